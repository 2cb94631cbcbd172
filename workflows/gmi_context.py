"""The history and the context that a host gives an instance. Pure: read, checked, applied to the state."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from activities.history_messages import ConversationMessage, read_messages
from activities.json_values import encoded_size
from activities.sources import MAX_SOURCES, RagRetrievedChunk
from workflows.gmi_refusal import Refused, only, read_model, read_object
from workflows.gmi_state import InstanceState, digest_of
from workflows.gmi_turn_book import move_to

SOURCES_BYTES = 64_000
ID_CHARS = 150


@dataclass(frozen=True, slots=True)
class NewHistory:
    """Messages to make the whole history, or its end with `append`."""

    messages: tuple[ConversationMessage, ...]
    append: bool = False

    @property
    def inputs(self) -> list[str]:
        """Digests of what the user says in it."""
        return [digest_of(each.content) for each in self.messages if each.role == "user"]


def read_history(arguments: Sequence[Any], what: str) -> NewHistory:
    """`{"messages": […], "append"?}`, or the list alone.

    Raises:
        Refused: it is malformed, too large for one message, or its calls and results do not pair.
    """
    if len(arguments) == 1 and isinstance(arguments[0], list):
        arguments = [{"messages": arguments[0]}]
    given = only(read_object(arguments, what), what, "messages", "append")
    append = given.get("append", False)
    if not isinstance(append, bool):
        raise Refused(f"{what}: append must be true or false")
    if "messages" not in given:
        raise Refused(f"{what}: messages is missing; an empty list empties the history")
    try:
        read_messages(given["messages"])
    except ValueError as wrong:
        raise Refused(f"{what}: {wrong}") from None
    return NewHistory(tuple(ConversationMessage.model_validate(each) for each in given["messages"]), append)


def read_cursor(arguments: Sequence[Any], what: str) -> str | None:
    """The cursor of a page, None for the newest.

    Raises:
        Refused: it is no text.
    """
    before = only(read_object(arguments, what), what, "before").get("before")
    if before is not None and not isinstance(before, str):
        raise Refused(f"{what}: before must be the cursor of an earlier page")
    return before


def read_context(arguments: Sequence[Any], what: str) -> dict[str, Any]:
    """The context of a continuation, each field optional.

    Raises:
        Refused: a wrong type, or sources that are too large.
    """
    names = ("sessionId", "conversationId", "organizationId", "ragSources")
    given = only(read_object(arguments, what), what, *names)
    for name in names[:3]:
        value = given.get(name)
        if value is not None and (not isinstance(value, str) or len(value) > ID_CHARS):
            raise Refused(f"{what}: {name} must be a text of at most {ID_CHARS} characters")
    sources = given.get("ragSources")
    if sources is not None and not (isinstance(sources, list) and all(isinstance(each, dict) for each in sources)):
        raise Refused(f"{what}: ragSources must be a list of objects")
    if sources is not None and (size := encoded_size(sources)) > SOURCES_BYTES:
        raise Refused(f"{what}: ragSources: {size:,} bytes are more than {SOURCES_BYTES:,}")
    if sources is not None and len(sources) > MAX_SOURCES:
        raise Refused(f"{what}: ragSources: {len(sources)} are more than {MAX_SOURCES}")
    for index, source in enumerate(sources or ()):
        read_model(RagRetrievedChunk, source, f"{what}: ragSources[{index}]")
    return given


def apply_context(state: InstanceState, given: dict[str, Any]) -> None:
    """Source: hydrateTurnContext of AgentOS: a blank organisation means none, an empty list of sources none were found, and
    what is left out stays as it is."""
    if conversation_id := (given.get("conversationId") or "").strip():
        move_to(state, conversation_id)
    if session_id := (given.get("sessionId") or "").strip():
        state.session_id = session_id
    if (organization_id := given.get("organizationId")) is not None:
        state.organization_id = organization_id.strip() or None
    if (sources := given.get("ragSources")) is not None:
        state.rag_sources = state.given_sources = tuple(map(RagRetrievedChunk.model_validate, sources)) or None


def request_key(first_run_id: str, update_id: str) -> str:
    """Under which name a request is done once, in the store and in memory."""
    return hashlib.sha256(f"{first_run_id}\0{update_id}".encode("utf-8", "replace")).hexdigest()[:24]
