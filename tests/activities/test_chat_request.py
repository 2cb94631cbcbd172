from typing import Any

import pytest

from activities.chat_request import Dialect, adapt, merge_options, request_fields, stream_fields, tool_fields
from activities.personas import Modality, Persona
from activities.provider_errors import ProviderFault
from activities.turn_input import AudioOptions, TurnOptions

TOOLS: list[dict[str, Any]] = [{"type": "function", "function": {"name": "f"}}]
TOOL_ONLY: list[dict[str, Any]] = [{"role": "assistant", "content": None, "tool_calls": [{}]}]


def test_what_nobody_set_is_not_sent() -> None:
    assert request_fields(Persona(id="p"), TurnOptions(), "m", Dialect()) == {"model": "m"}


def test_options_come_before_the_persona() -> None:
    persona = Persona(id="p", temperature=0.9, max_tokens=10)
    options = TurnOptions(temperature=0.0, response_format={"type": "json_object"})
    assert request_fields(persona, options, "m", Dialect()) == {
        "model": "m",
        "temperature": 0.0,
        "max_tokens": 10,
        "response_format": {"type": "json_object"},
    }


@pytest.mark.parametrize(
    ("allowed", "modalities", "sent"),
    [
        (None, ("text", "audio"), {"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "wav"}}),
        (("text",), ("text", "audio"), {"modalities": ["text"]}),
        (("text",), ("audio",), {}),
    ],
)
def test_a_model_is_asked_for_what_its_persona_may_answer_with(
    allowed: tuple[Modality, ...] | None, modalities: tuple[Modality, ...], sent: dict[str, Any]
) -> None:
    persona = Persona(id="p", allowed_output_modalities=allowed)
    options = TurnOptions(modalities=modalities, audio=AudioOptions(voice="alloy", format="wav"))
    assert request_fields(persona, options, "m", Dialect()) == {"model": "m", **sent}


def test_options_of_an_answer_override_only_what_they_say() -> None:
    turn = TurnOptions(model="a", temperature=0.1, max_tokens=5)
    # As it comes back from a payload, where every field is set.
    answer = TurnOptions.model_validate(TurnOptions(model="b").model_dump(by_alias=True))
    assert merge_options(turn, answer) == TurnOptions(model="b", temperature=0.1, max_tokens=5)
    assert merge_options(turn, None) is turn


@pytest.mark.parametrize(
    ("choice", "fields", "sent"),
    [
        (None, {}, {"tools": TOOLS}),
        ("required", {}, {"tools": TOOLS, "tool_choice": "required"}),
        ("required", {"answering": True}, {"tools": TOOLS}),
        ("none", {"answering": True}, {"tools": TOOLS, "tool_choice": "none"}),
        ("required", {"allowed": False}, {}),
        ("auto", {"allowed": False, "calls_before": True}, {"tools": TOOLS, "tool_choice": "none"}),
    ],
)
def test_a_choice_is_sent_only_where_it_makes_sense(choice: Any, fields: dict[str, bool], sent: dict[str, Any]) -> None:
    given = {"allowed": True, "calls_before": False, "answering": False, **fields}
    assert tool_fields(TOOLS, TurnOptions(tool_choice=choice), **given) == sent


def test_without_tools_neither_tools_nor_a_choice_are_sent() -> None:
    options = TurnOptions(tool_choice="required")
    assert tool_fields([], options, allowed=True, calls_before=True, answering=False) == {}


@pytest.mark.parametrize(
    ("fault", "adapted"),
    [
        (ProviderFault("invalid message content type: <nil>", 400), Dialect("empty")),
        (ProviderFault("messages.1.content must not be null", 422), Dialect("empty")),
        (
            ProviderFault("Unsupported parameter: use 'max_completion_tokens'", 400),
            Dialect(limit="max_completion_tokens"),
        ),
        (ProviderFault("filtered by the content management policy", 400), None),
        (ProviderFault("content", 400, "content_filter"), None),
        (ProviderFault("content is null", 500), None),
        (ProviderFault("unknown model", 400), None),
    ],
)
def test_a_refusal_is_answered_in_another_form_only_when_it_is_about_the_form(
    fault: ProviderFault, adapted: Dialect | None
) -> None:
    assert adapt(Dialect(), fault, TOOL_ONLY) == adapted


@pytest.mark.parametrize(
    ("text", "dialect", "adapted"),
    [
        ("Unrecognized request argument supplied: stream_options", Dialect(), Dialect(stream_usage=False)),
        ("[{'loc': ['body', 'stream_options'], 'msg': 'extra'}]", Dialect(), Dialect(stream_usage=False)),
        ("this model does not support streaming", Dialect(), Dialect(streams=False)),
        ("stream is not allowed", Dialect(stream_usage=False), Dialect(stream_usage=False, streams=False)),
        ("unknown model upstream", Dialect(), None),
    ],
)
def test_a_refused_stream_is_asked_for_in_less(text: str, dialect: Dialect, adapted: Dialect | None) -> None:
    assert adapt(dialect, ProviderFault(text, 400), [], streamed=True) == adapted
    assert adapt(dialect, ProviderFault(text, 400), []) is None


def test_a_stream_is_asked_for_as_far_as_the_server_has_it() -> None:
    assert stream_fields(Dialect()) == {"stream": True, "stream_options": {"include_usage": True}}
    assert stream_fields(Dialect(stream_usage=False)) == {"stream": True}
    assert stream_fields(Dialect(streams=False)) == {}


def test_a_request_without_a_message_of_only_calls_is_not_sent_again() -> None:
    assert adapt(Dialect(), ProviderFault("content is bad", 400), [{"role": "user", "content": "x"}]) is None
