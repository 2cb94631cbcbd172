"""Secrets come from the environment, go where the document says, and are told to nobody."""

import base64
from typing import Any

import pytest

from activities.credentials import CredentialMissing, Credentials, Secret, Security, read_secret, redacted
from activities.openapi.operation import SecurityScheme

SCHEMES = {
    each.name: each
    for each in (
        SecurityScheme("key", "apiKey", "header", "X-Api-Key"),
        SecurityScheme("query_key", "apiKey", "query", "api key"),
        SecurityScheme("cookie_key", "apiKey", "cookie", "sid"),
        SecurityScheme("basic", "http", scheme="basic"),
        SecurityScheme("bearer", "http", scheme="bearer"),
        SecurityScheme("oauth", "oauth2"),
        SecurityScheme("openid", "openIdConnect"),
        SecurityScheme("tls", "mutualTLS"),
    )
}
ENVIRONMENT = {
    "KEY": "s3cr3t-value",
    "USER": "ren",
    "PASSWORD": "pass:word",
    "BOTH": "ren:s3cr3t",
    "BAD": "a\nb",
    "NONE": " ",
}


def credentials(**given: Secret) -> Credentials:
    return Security(SCHEMES, given).credentials(given, ENVIRONMENT)


def basic(text: str) -> str:
    return f"Basic {base64.b64encode(text.encode()).decode()}"


@pytest.mark.parametrize(
    ("name", "secret", "headers"),
    [
        ("key", "env:KEY", {"X-Api-Key": "s3cr3t-value"}),
        ("bearer", "env:KEY", {"Authorization": "Bearer s3cr3t-value"}),
        ("oauth", "env:KEY", {"Authorization": "Bearer s3cr3t-value"}),
        ("openid", "env:KEY", {"Authorization": "Bearer s3cr3t-value"}),
        ("basic", "env:BOTH", {"Authorization": basic("ren:s3cr3t")}),
        ("basic", {"username": "env:USER", "password": "env:PASSWORD"}, {"Authorization": basic("ren:pass:word")}),
    ],
)
def test_scheme_says_which_header(name: str, secret: Secret, headers: dict[str, str]) -> None:
    assert credentials(**{name: secret}).headers == headers


def test_keys_may_stand_in_query_and_cookies() -> None:
    made = credentials(query_key="env:KEY", cookie_key="env:KEY")
    assert (made.headers, made.query, made.cookies) == ({}, {"api key": "s3cr3t-value"}, {"sid": "s3cr3t-value"})


def test_first_alternative_that_is_given_is_used_whole() -> None:
    security = Security(SCHEMES, {"key": "env:KEY", "oauth": "env:KEY"})
    assert security.chosen([("bearer",), ("key", "oauth"), ("key",)]) == ("key", "oauth")
    assert security.chosen([("basic",), ()]) == ()
    assert security.chosen([()]) == ()
    assert security.chosen([]) == ()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"key": "sk-live-1"}, "must name a variable of the environment"),
        ({"key": "env:"}, "must name a variable"),
        ({"basic": {"username": "env:USER"}}, "must name a variable"),
        ({"key": {"username": "env:USER", "password": "env:KEY"}}, "must name a variable"),
        ({"nobody": "env:KEY"}, "no security scheme 'nobody'; it has key"),
        ({"tls": "env:KEY"}, "not supported"),
    ],
)
def test_configuration_that_cannot_work_is_refused_without_repeating_a_secret(given: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said) as raised:
        Security(SCHEMES, given)
    assert "sk-live-1" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "said"), [("GONE", "GONE is not set"), ("NONE", "NONE is not set"), ("BAD", "no request")]
)
def test_secret_that_cannot_be_sent_names_its_variable_only(name: str, said: str) -> None:
    with pytest.raises(CredentialMissing, match=said) as raised:
        read_secret(f"env:{name}", ENVIRONMENT)
    assert "a\nb" not in str(raised.value)


def test_newline_that_files_end_with_is_no_part_of_a_secret() -> None:
    assert read_secret("env:A", {"A": "token\n"}) == "token"


def test_nothing_printed_has_a_secret() -> None:
    made = credentials(key="env:KEY", basic="env:BOTH")
    assert "s3cr3t" not in repr(made)
    assert "env:KEY" not in repr(Security(SCHEMES, {"key": "env:KEY"}))


def test_answer_that_repeats_a_secret_is_told_without_it() -> None:
    secrets = credentials(key="env:KEY", basic="env:BOTH").secrets
    echoed = {
        "headers": {"X-Api-Key": "s3cr3t-value", "Authorization": basic("ren:s3cr3t")},
        "list": ["key=s3cr3t-value&x", 7, None],
        "s3cr3t-value": "ren:s3cr3t",
    }
    told = redacted(echoed, secrets)
    assert "s3cr3t" not in str(told)
    assert base64.b64encode(b"ren:s3cr3t").decode() not in str(told)
    assert told["list"][1:] == [7, None]


def test_secret_is_found_percent_encoded_and_the_longest_first() -> None:
    assert redacted("a%2Fb+c%3D and a/b c=", ["a/b c="]) == "[secret] and [secret]"
    assert redacted("abcdef abcd", ["abcd", "abcdef"]) == "[secret] [secret]"


def test_text_too_short_to_be_a_secret_is_left() -> None:
    assert redacted({"a": "abc"}, ["a", ""]) == {"a": "abc"}
