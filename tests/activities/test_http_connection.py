"""A connection is refused when it is made, not when it is used; its secrets are read when it is used."""

import pytest

from activities.credentials import CredentialMissing
from activities.http_connection import HttpConnection


@pytest.mark.parametrize(
    "host",
    [
        "h/api",
        "ftp://h",
        "https://",
        "https://user:pw@h",
        "https://h?key=1",
        "https://h#x",
        "//h",
        "https://h/a b",
        "https://h/\r\nX: 1",
        "https://ü",
        "https://h:0",
    ],
)
def test_host_that_no_path_can_follow_is_refused(host: str) -> None:
    with pytest.raises(ValueError, match="the host must") as raised:
        HttpConnection(host)
    assert "pw" not in str(raised.value)


def test_host_with_a_port_that_is_none_is_refused() -> None:
    for host in ("https://h:99999", "https://h:x", "https://[::1"):
        with pytest.raises(ValueError):
            HttpConnection(host)


@pytest.mark.parametrize("name", ["", "a b", "a:", "Host", "content-length", "Transfer-Encoding", "Cookie", "ü"])
def test_header_that_cannot_be_set_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="header"):
        HttpConnection("https://h", headers={name: "x"})


def test_value_with_a_line_is_refused_without_being_repeated() -> None:
    with pytest.raises(ValueError, match="X-A") as raised:
        HttpConnection("https://h", headers={"X-A": "s3cr3t\r\nX-B: 1"})
    assert "s3cr3t" not in str(raised.value)


def test_cookie_that_has_no_name_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot name a cookie"):
        HttpConnection("https://h", cookies={"a;b": "x"})


def test_host_replaces_the_documents() -> None:
    assert HttpConnection("https://h/api/").base_url("https://other") == "https://h/api"
    assert HttpConnection().base_url("https://other") == "https://other"


def test_named_secrets_are_read_when_asked_for_and_not_printed() -> None:
    connection = HttpConnection(
        "https://h",
        {"X-A": "env:A", "X-B": ("1", "env:A"), "X-C": "plain", "Authorization": "Bearer env:A"},
        {"s": "env:A"},
    )
    made = connection.credentials({"A": "s3cr3t"})
    assert made.headers == {
        "X-A": ("s3cr3t",),
        "X-B": ("1", "s3cr3t"),
        "X-C": ("plain",),
        "Authorization": ("Bearer s3cr3t",),
    }
    assert made.cookies == {"s": "s3cr3t"}
    assert set(made.secrets) == {"s3cr3t"}
    assert repr(connection) == "HttpConnection(host='https://h')"
    with pytest.raises(CredentialMissing, match="variable A is not set"):
        connection.credentials({})
