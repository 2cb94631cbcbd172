"""Everything of a model request but its messages, and the one way it may be changed after a refusal."""

import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from activities.modalities import Kind
from activities.personas import Persona
from activities.prompt import ChatMessage, ContentForm
from activities.provider_errors import ProviderFault
from activities.structured_contracts import Enforcement
from activities.turn_input import TurnOptions

ToolDefinitions = list[dict[str, Any]]

_ABOUT_CONTENT = re.compile(r"\bcontent\b(?![_ -]?(filter|polic|management|length))", re.IGNORECASE)
_ABOUT_STREAM_USAGE = re.compile(r"stream_options|include_usage", re.IGNORECASE)
_ABOUT_STREAM = re.compile(r"\bstream(s|ed|ing)?\b", re.IGNORECASE)
_ABOUT_MEDIA: dict[Kind, re.Pattern[str]] = {
    "image": re.compile(r"\bimages?\b|image_url|\bvision\b|multi-?modal", re.IGNORECASE),
    "audio": re.compile(r"\baudio\b|input_audio|multi-?modal", re.IGNORECASE),
}
_MEDIA_TYPES: dict[Kind, str] = {"image": "image_url", "audio": "input_audio"}
_ABOUT_SCHEMA = re.compile(r"response[ _.-]?format|json[ _-]?schema|structured[ _-]?output|\bschema\b", re.IGNORECASE)
_ABOUT_TOOLS = re.compile(r"tool[ _-]?choice|\btools?\b|\bfunctions?\b", re.IGNORECASE)
_OTHER_CONTENT: dict[ContentForm, ContentForm] = {"null": "empty", "empty": "null", "omit": "empty"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """Where compatible servers differ: the `content` of a message that has only calls, the name of the output limit, and
    whether an answer can be streamed and says its usage then; how it is held to a JSON Schema. Parts of the kinds in `without`
    are sent as notes.
    """

    tool_only_content: ContentForm = "null"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    streams: bool = True
    stream_usage: bool = True
    without: frozenset[Kind] = frozenset()
    structured: Enforcement = "provider_schema"


def stream_fields(dialect: Dialect) -> dict[str, Any]:
    """What asks for a streamed answer, as far as the server can give one."""
    if not dialect.streams:
        return {}
    return {"stream": True, **({"stream_options": {"include_usage": True}} if dialect.stream_usage else {})}


def merge_options(turn: TurnOptions, answer: TurnOptions | None) -> TurnOptions:
    """The turn's options with those of an answer over them, where the answer says something other than the default."""
    if answer is None:
        return turn
    said = {
        name: getattr(answer, name)
        for name, about in TurnOptions.model_fields.items()
        if getattr(answer, name) != about.get_default(call_default_factory=True)
    }
    return turn.model_copy(update=said)


def output_limit(persona: Persona, options: TurnOptions) -> int | None:
    """The most tokens the reply may have, when anyone set it."""
    return options.max_tokens or persona.completion.max_tokens


def request_fields(persona: Persona, options: TurnOptions, model: str, dialect: Dialect) -> dict[str, Any]:
    """Model and sampling. What nobody set is not sent: some models refuse any value of it."""
    own = persona.completion
    temperature = options.temperature if options.temperature is not None else own.temperature
    fields: dict[str, Any] = {
        "model": model,
        "temperature": temperature,
        "top_p": own.top_p,
        "presence_penalty": own.presence_penalty,
        "frequency_penalty": own.frequency_penalty,
        "stop": None if own.stop is None else list(own.stop),
        "seed": own.seed,
        dialect.limit: output_limit(persona, options),
        "response_format": options.response_format,
        **_speech_fields(persona, options),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _speech_fields(persona: Persona, options: TurnOptions) -> dict[str, Any]:
    """What the model may answer with besides text, as far as the persona may."""
    wanted = [each for each in options.modalities or () if each == "text" or persona.may_answer_with(each)]
    if not wanted:
        return {}
    audio = options.audio.model_dump() if options.audio is not None and "audio" in wanted else None
    return {"modalities": wanted, "audio": audio}


def may_stream(options: TurnOptions) -> bool:
    """Whether the answer may be asked for as a stream: of all forms of sound providers stream the bare one only."""
    return options.audio is None or options.audio.format == "pcm16"


def tool_fields(
    tools: ToolDefinitions, options: TurnOptions, *, allowed: bool, calls_before: bool, answering: bool
) -> dict[str, Any]:
    """The tools and the choice among them.

    With tools not allowed, `tools` and `tool_choice: none` are sent when calls stand in the messages, since servers in front
    of Anthropic and Bedrock models refuse calls without definitions; else neither is sent, which every server takes. A
    server that ignores "none" does no harm: calls that come all the same are left out.

    A choice that forces a call holds until the model reads results (`answering`): forced for ever, it could never answer.
    One that names a tool which is not among these is left out: it may wait to be chosen first, and no server takes it.
    """
    if not tools or (not allowed and not calls_before):
        return {}
    if not allowed:
        return {"tools": tools, "tool_choice": "none"}
    choice = options.tool_choice
    if choice is None or (answering and choice not in ("auto", "none")) or not _is_among(choice, tools):
        return {"tools": tools}
    return {"tools": tools, "tool_choice": choice}


def _is_among(choice: str | dict[str, Any], tools: ToolDefinitions) -> bool:
    named = choice.get("function") if isinstance(choice, dict) else None
    name = named.get("name") if isinstance(named, dict) else None
    return name is None or any(each["function"]["name"] == name for each in tools)


def refused_media(fault: ProviderFault) -> frozenset[Kind]:
    """The kinds of parts that a refusal complains about."""
    if fault.status not in (400, 404, 415, 422):
        return frozenset()
    return frozenset(kind for kind, words in _ABOUT_MEDIA.items() if words.search(fault.text))


def media_of(message: ChatMessage) -> frozenset[Kind]:
    """The kinds of the parts of a message that are no text."""
    content = message.get("content")
    types = {part.get("type") for part in content} if isinstance(content, list) else set()
    return frozenset(kind for kind, name in _MEDIA_TYPES.items() if name in types)


def earlier_media(messages: list[ChatMessage]) -> frozenset[Kind]:
    """The kinds that stand in messages before the newest of the user, which does without them."""
    said = [message for message in messages if message["role"] == "user"]
    if not said:
        return frozenset()
    return frozenset[Kind]().union(*map(media_of, said[:-1])) - media_of(said[-1])


def adapt(
    dialect: Dialect,
    fault: ProviderFault,
    messages: list[ChatMessage],
    *,
    streamed: bool = False,
    structured: bool = False,
) -> Dialect | None:
    """The dialect to try once more after a refusal that complains about exactly what it can change; else None.

    `structured` says that the request asks for a structured answer, in the way of the dialect.
    """
    if kinds := refused_media(fault) & earlier_media(messages):
        return replace(dialect, without=dialect.without | kinds)
    if fault.status not in (400, 422) or fault.code in ("content_filter", "content_policy_violation"):
        return None
    if streamed and dialect.stream_usage and _ABOUT_STREAM_USAGE.search(fault.text):
        return replace(dialect, stream_usage=False)
    if streamed and _ABOUT_STREAM.search(fault.text):
        return replace(dialect, streams=False)
    if "max_completion_tokens" in fault.text and dialect.limit == "max_tokens":
        return replace(dialect, limit="max_completion_tokens")
    if structured and dialect.structured == "provider_schema" and _ABOUT_SCHEMA.search(fault.text):
        return replace(dialect, structured="forced_tool")
    if structured and dialect.structured == "forced_tool" and _ABOUT_TOOLS.search(fault.text):
        return replace(dialect, structured="prompt_only")
    tool_only = any(message.get("tool_calls") and not message.get("content") for message in messages)
    if tool_only and _ABOUT_CONTENT.search(fault.text):
        return replace(dialect, tool_only_content=_OTHER_CONTENT[dialect.tool_only_content])
    return None
