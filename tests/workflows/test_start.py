"""What starts a turn is read whole, or refused by the name of the field that is wrong."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given

from activities.conversation import ErrorDetails, ImagePart, TextPart
from activities.json_values import Undecodable, encoded_size
from activities.turn_input import TurnInput
from tests.workflows.strategies import hostile_arguments, nested
from workflows.start import read_turn_input


def read(**fields: Any) -> TurnInput:
    given = read_turn_input([{"content": "hi", **fields}])
    assert isinstance(given, TurnInput), given
    return given


def refusal(*arguments: Any) -> str:
    told = read_turn_input(arguments)
    assert isinstance(told, ErrorDetails), told
    assert told.code == "SYS_VALIDATION_ERROR"
    return told.message


def test_a_bare_string_is_the_content() -> None:
    assert read_turn_input(["hello"]) == TurnInput(content="hello")


def test_the_defaults_are_those_that_hosts_are_promised() -> None:
    given = read()
    assert (given.user_id, given.on_busy, given.type) == ("local", "refuse", "text")
    assert (given.pause.timeout, given.pause.on_timeout, given.limits.max_tool_rounds) == ("P7D", "continue", 5)
    assert (given.options.tool_selection, given.options.stream) == ("all", False)


def test_every_field_is_read_in_both_spellings() -> None:
    camel: dict[str, Any] = {
        "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "https://x/y.png"}}],
        "conversationId": "c1",
        "userId": "ada",
        "interactionId": "t1",
        "externalTools": [{"name": "book", "inputSchema": {"type": "object"}, "timeout": "PT5M"}],
        "options": {"maxTokens": 10, "toolChoice": "none", "userApiKeys": ["OPENAI_TEAM_B"]},
        "pause": {"timeout": "PT1H", "onTimeout": "fail"},
        "onBusy": "supersede",
        "limits": {"maxToolRounds": 3, "maxCostUSD": 0.5, "deadline": "2030-01-31T12:00:00Z"},
    }
    snake: dict[str, Any] = {
        "content": camel["content"],
        "conversation_id": "c1",
        "user_id": "ada",
        "interaction_id": "t1",
        "external_tools": [{"name": "book", "input_schema": {"type": "object"}, "timeout": "PT5M"}],
        "options": {"max_tokens": 10, "tool_choice": "none", "user_api_keys": ["OPENAI_TEAM_B"]},
        "pause": {"timeout": "PT1H", "on_timeout": "fail"},
        "on_busy": "supersede",
        "limits": {"max_tool_rounds": 3, "max_cost_usd": 0.5, "deadline": "2030-01-31T12:00:00Z"},
    }
    given = read_turn_input([camel])
    assert given == read_turn_input([snake])
    assert isinstance(given, TurnInput)
    assert [type(part) for part in given.content] == [TextPart, ImagePart]
    assert given.limits.deadline == datetime(2030, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "exactly one argument, 0 came"),
        (["a", "b"], "exactly one argument, 2 came"),
        ([Undecodable("not JSON that can be read: x")], "input: not JSON that can be read: x"),
        ([None], "is a null, not an object"),
        ([7], "is a number, not an object"),
        ([["hi"]], "is a list, not an object"),
        ([""], "content: must not be empty"),
        ([" \n"], "content: must not be empty"),
        ([{"content": []}], "content: must not be empty"),
        ([{}], "content: Field required"),
        ([{"content": "half \ud83d"}], "input.content has half of a surrogate pair"),
        (["half \ud83d"], "input.content has half of a surrogate pair"),
        ([{"content": "hi", "metadata": {"a": [float("nan")]}}], "input.metadata.a[0] is nan"),
        ([{"content": "hi", "metadata": {"a": nested(120)}}], "levels deep"),
        ([{"content": [{"type": "video", "url": "x"}]}], "content"),
    ],
)
def test_what_is_no_input_is_refused(arguments: list[Any], words: str) -> None:
    assert words in refusal(*arguments)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"converstionId": "c1"}, "converstionId: is not a field of a turn's input"),
        ({"options": {"modell": "x"}}, "options.modell: is not a field"),
        ({"externalTools": [{"name": "book", "schema": {}}]}, "externalTools.0.schema: is not a field"),
        ({"type": "tool_response"}, "handle_tool_results"),
        ({"type": "song"}, "type:"),
        ({"userId": ""}, "userId:"),
        ({"userId": 5}, "userId:"),
        ({"conversationId": "c" * 201}, "conversationId:"),
        ({"externalTools": [{"name": "2 words"}]}, "externalTools.0.name:"),
        ({"externalTools": [{"name": "book"}, {"name": "book"}]}, "externalTools: book stands twice"),
        ({"externalTools": [{"name": "book", "inputSchema": {"type": "strin"}}]}, "externalTools[0].inputSchema:"),
        ({"externalTools": [{"name": "b", "outputSchema": {"$ref": "https://x/y"}}]}, "externalTools[0].outputSchema:"),
        ({"externalTools": [{"name": "b", "inputSchema": {"title": "x" * 100_000}}]}, "more than 100,000"),
        ({"externalTools": [{"name": "book", "timeout": "5m"}]}, "externalTools[0].timeout:"),
        ({"externalTools": [{"name": f"t{n}"} for n in range(129)]}, "externalTools:"),
        ({"pause": {"timeout": "7 days"}}, "pause.timeout:"),
        ({"pause": {"timeout": "PT0S"}}, "pause.timeout:"),
        ({"pause": {"timeout": "P20Y"}}, "pause.timeout:"),
        ({"pause": {"onTimeout": "explode"}}, "pause.onTimeout:"),
        ({"onBusy": "queue"}, "onBusy:"),
        ({"limits": {"maxToolRounds": 0}}, "limits.maxToolRounds:"),
        ({"limits": {"maxToolRounds": 201}}, "limits.maxToolRounds:"),
        ({"limits": {"maxCostUSD": 0}}, "limits.maxCostUSD:"),
        ({"limits": {"deadline": "2030-01-31T12:00:00"}}, "limits.deadline: needs a time zone"),
        ({"options": {"temperature": 3}}, "options.temperature:"),
        ({"options": {"modalities": ["audio"]}}, "options: modality `audio` and the options `audio` {voice, format}"),
        ({"options": {"audio": {"voice": "alloy", "format": "wav"}}}, "options: modality `audio` and"),
        ({"options": {"modalities": ["audio"], "audio": {"voice": "a", "format": "exe"}}}, "options.audio.format:"),
        ({"options": {"modalities": ["audio"], "audio": {"voice": "", "format": "wav"}}}, "options.audio.voice:"),
        ({"options": {"modalities": []}}, "options.modalities:"),
        ({"options": {"modalities": ["smell"]}}, "options.modalities.0:"),
    ],
)
def test_a_wrong_field_is_named(fields: dict[str, Any], words: str) -> None:
    assert words in refusal({"content": "hi", **fields})


@pytest.mark.parametrize("keys", [["sk-live-secret"], {"openai": "sk-live-secret"}, "sk-live-secret"])
def test_a_raw_key_is_refused_and_not_repeated(keys: Any) -> None:
    """The refusal stands in the history for ever."""
    told = refusal({"content": "hi", "options": {"userApiKeys": keys}})
    assert "userApiKeys" in told
    assert "sk-live-secret" not in told


def test_a_refusal_names_several_fields_and_stays_small() -> None:
    told = refusal({"content": "hi", "nope": 1, "userId": 5, "options": {"stream": "maybe"}})
    assert all(name in told for name in ("nope", "userId", "options.stream"))
    huge = read_turn_input([{"content": "hi", "k" * 900_000: 1}])
    assert encoded_size(huge) < 3_000
    assert encoded_size(read_turn_input([{"content": "hi", "k" * 300_000: float("nan")}])) < 3_000


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f469\u200d\U0001f469\u200d\U0001f467 family",
        "日本語テスト",
        "שלום עולם",
        "e\u0301 decomposed",
        "NUL: \x00",
        "a\r\n\tb ",
    ],
)
def test_every_whole_text_is_the_content_unchanged(text: str) -> None:
    assert read(content=text).content == text


def test_an_input_survives_its_own_json() -> None:
    given = read(limits={"maxCostUSD": 0.5, "deadline": "2030-01-31T12:00:00+02:00"}, externalTools=[{"name": "book"}])
    assert read_turn_input([json.loads(given.model_dump_json(by_alias=True))]) == given


@given(arguments=hostile_arguments)
def test_nothing_a_stranger_sends_raises(arguments: list[Any]) -> None:
    told = read_turn_input(arguments)
    assert isinstance(told, TurnInput) or told.message


def test_keys_in_metadata_or_options_are_refused_and_not_repeated() -> None:
    key = "sk-proj-1234567890"
    for fields in ({"metadata": {"userApiKeys": {"openai": key}}}, {"options": {"userApiKeys": [key]}}):
        refused = read_turn_input([{"content": "Hi", **fields}])
        assert isinstance(refused, ErrorDetails)
        assert "secrets" in refused.message
        assert key not in refused.message
