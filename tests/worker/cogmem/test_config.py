"""What a configuration accepts, and what it never shows."""

import os
from typing import Any

import pytest

from worker.cogmem import CognitiveMemoryConfig

KEY = "cmi_dev_0a1b2c3d_c2VjcmV0"


def test_its_defaults_are_those_of_a_local_service() -> None:
    config = CognitiveMemoryConfig(api_key=KEY)

    assert (config.url, config.timeout, config.retry, config.debug) == ("http://localhost:3000", 30_000, 2, False)
    assert CognitiveMemoryConfig(api_key=KEY, base_url=os.environ.get("NO_SUCH_VARIABLE")).url == config.url


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("http://localhost:3000/", "http://localhost:3000"),
        ("https://memory.example.com//", "https://memory.example.com"),
        ("https://example.com/memory/v2/", "https://example.com/memory/v2"),
        (" http://[::1]:3000 ", "http://[::1]:3000"),
    ],
)
def test_a_base_url_loses_the_slashes_at_its_end_and_keeps_its_prefix(given: str, used: str) -> None:
    assert CognitiveMemoryConfig(api_key=KEY, base_url=given).url == used


@pytest.mark.parametrize(
    "given",
    [
        "",
        " ",
        "localhost:3000",
        "ftp://example.com",
        "http://",
        "/memory",
        "http://a:99999999",
        "http://[::1",
        "http://a b",
        "http://a/\n",
        "http://a/\x00b",
        "http://a?x=1",
        "http://a#b",
        "http://user:hunter2@a",
    ],
)
def test_a_base_url_that_cannot_stand_before_a_path_is_refused(given: str) -> None:
    if given == "http://a/\n":
        assert CognitiveMemoryConfig(api_key=KEY, base_url=given).url == "http://a"
        return
    with pytest.raises(ValueError, match="base_url") as caught:
        CognitiveMemoryConfig(api_key=KEY, base_url=given)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("blank", ["", "   ", "\n", None, 7])
def test_a_blank_key_is_refused(blank: Any) -> None:
    with pytest.raises(ValueError, match="api_key must not be blank"):
        CognitiveMemoryConfig(api_key=blank)
    with pytest.raises(ValueError, match="api_key must not be blank"):
        CognitiveMemoryConfig()


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "Kľúč", "nul\x00l"])
def test_a_key_that_no_header_can_carry_is_refused_without_repeating_it(key: str) -> None:
    with pytest.raises(ValueError, match="one word of ASCII") as caught:
        CognitiveMemoryConfig(api_key=key)
    assert key not in str(caught.value)


def test_a_key_loses_the_line_break_that_a_file_leaves() -> None:
    assert CognitiveMemoryConfig(api_key=f"{KEY}\r\n").api_key == KEY


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("timeout", 0),
        ("timeout", -1),
        ("timeout", float("nan")),
        ("timeout", float("inf")),
        ("timeout", "30"),
        ("timeout", True),
        ("retry", -1),
        ("retry", 11),
        ("retry", 1.5),
        ("retry", True),
    ],
)
def test_a_wait_without_an_end_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        CognitiveMemoryConfig(**{"api_key": KEY, name: value})


@pytest.mark.parametrize("headers", [{"x-secret": "hunter2\r\nx: y"}, {"x-secret": "hunter2€"}, {"": "hunter2"}])
def test_a_header_that_would_break_a_request_is_refused_by_name_alone(headers: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="header") as caught:
        CognitiveMemoryConfig(api_key=KEY, headers=headers)
    assert "hunter2" not in str(caught.value)


def test_neither_key_nor_headers_are_shown() -> None:
    config = CognitiveMemoryConfig(api_key=KEY, headers={"x-secret": "hunter2"})

    assert KEY not in repr(config)
    assert "hunter2" not in repr(config)


def test_it_does_not_change_after_it_was_checked() -> None:
    headers = {"x-team": "a"}
    config = CognitiveMemoryConfig(api_key=KEY, headers=headers)
    headers["x-team"] = "b\n"

    assert config.headers == {"x-team": "a"}
    with pytest.raises(TypeError):
        config.headers["x-team"] = "b"  # type: ignore[index]
    with pytest.raises(AttributeError):
        config.retry = 5  # type: ignore[misc]
