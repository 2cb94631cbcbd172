"""What is joined to a request takes the place of what an argument put there."""

from activities.openapi.message import HttpRequest

REQUEST = HttpRequest(
    "POST",
    "https://h/x",
    query=(("a", "1"), ("api%20key", "mine")),
    headers=(("Accept", "*/*"), ("X-KEY", "mine"), ("Content-Type", "application/json")),
    cookies=(("s", "mine"),),
    body=b"{}",
)


def test_names_are_replaced_and_values_encoded() -> None:
    joined = REQUEST.joined(
        query={"api key": "a&b"}, headers={"x-key": ("1", "2")}, cookies={"s": "a;b", "t": "c/d+e=="}
    )
    assert joined.url == "https://h/x?a=1&api%20key=a%26b"
    assert joined.wire_headers() == [
        ("Accept", "*/*"),
        ("Content-Type", "application/json"),
        ("x-key", "1"),
        ("x-key", "2"),
        ("Cookie", "s=a%3Bb; t=c/d+e=="),
    ]


def test_body_says_what_it_is() -> None:
    fixed = {"content-type": "text/plain"}
    assert ("Content-Type", "application/json") in REQUEST.joined(query={}, headers=fixed, cookies={}).headers
    assert HttpRequest("GET", "https://h").joined(query={}, headers=fixed, cookies={}).headers == (
        ("content-type", "text/plain"),
    )


def test_printing_shows_nothing_that_may_be_secret() -> None:
    assert repr(REQUEST) == "HttpRequest(method='POST', address='https://h/x')"
