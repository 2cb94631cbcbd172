"""What an answer that is no success becomes."""

import pickle
import traceback

import pytest

from worker.cogmem.errors import CognitiveMemoryError, error_of, parse_json

PREDICATES = (
    "is_auth_error",
    "is_scope_error",
    "is_validation_error",
    "is_not_found_error",
    "is_rate_limit_error",
    "is_server_error",
)


@pytest.mark.parametrize(
    ("status", "true"),
    [
        (400, "is_validation_error"),
        (401, "is_auth_error"),
        (403, "is_scope_error"),
        (404, "is_not_found_error"),
        (409, None),
        (429, "is_rate_limit_error"),
        (499, None),
        (500, "is_server_error"),
        (503, "is_server_error"),
    ],
)
def test_one_question_about_it_is_true_for_each_status(status: int, true: str | None) -> None:
    error = CognitiveMemoryError("no", status, "Code")

    assert [name for name in PREDICATES if getattr(error, name)()] == ([true] if true else [])


def test_it_carries_what_the_service_said() -> None:
    error = error_of(
        403,
        '{"error": "Forbidden", "message": "The key may not write", "requiredScope": "memories:write",'
        ' "issues": ["items: too few"], "resource": "memory", "id": "m1"}',
    )

    assert (str(error), error.code, error.status) == ("The key may not write", "Forbidden", 403)
    assert error.required_scope == "memories:write"
    assert error.issues == ("items: too few",)
    assert "items: too few" in "".join(traceback.format_exception(error))
    assert error.body is not None
    assert (error.body.resource, error.body.id) == ("memory", "m1")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html>Bad gateway</html>",
        "[]",
        "null",
        '"down"',
        '{"detail": "no"}',
        '{"error": 7, "message": "x"}',
        '{"error": "A", "message": null}',
        '{"error": "A", "message": "m", "issues": "x"}',
        '{"error": {"code": "A"}}',
        "{" * 100_000,
        "[" * 100_000,
    ],
)
def test_an_answer_in_another_form_is_unknown_and_tells_its_status(text: str) -> None:
    error = error_of(502, text)

    assert (error.code, error.status, error.body) == ("UnknownError", 502, None)
    assert "502" in str(error)
    assert len(str(error)) < 200


def test_a_blank_or_endless_message_is_made_readable() -> None:
    assert "500" in str(error_of(500, '{"error": "Internal", "message": ""}'))
    assert len(str(error_of(500, f'{{"error": "Internal", "message": "{"x" * 50_000}"}}'))) == 2_000


def test_it_survives_a_process_boundary() -> None:
    error = error_of(400, '{"error": "InvalidRequest", "message": "no", "issues": ["query: too short"]}')
    copied = pickle.loads(pickle.dumps(error))

    assert (str(copied), copied.status, copied.code, copied.issues) == ("no", 400, "InvalidRequest", error.issues)
    assert copied.body == error.body


@pytest.mark.parametrize("text", ["", "NaN", '{"score": Infinity}', "{'a': 1}", "[" * 100_000])
def test_what_is_not_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        parse_json(text)
