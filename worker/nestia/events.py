"""What listeners of a Nestia agent are told. Types and fields are those of `INestiaAgentEvent`; `pause` is ours.

Every event has its `number`, counted from 1 in one agent object, the turn it belongs to, and when it was told (milliseconds
since 1970).
"""

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from activities.wire import Wire
from worker.nestia.prompts import Operation, Prompt
from workflows.contracts import PendingRequest

Source = Literal["initialize", "select", "cancel", "execute", "describe"]
EventType = Literal[
    "initialize", "select", "cancel", "call", "execute", "describe", "text", "request", "response", "pause"
]


class _Event(Wire):
    number: int
    turn_id: str
    created_ms: int


class InitializeEvent(_Event):
    """The model asked for the functions for the first time."""

    type: Literal["initialize"]


class SelectEvent(_Event):
    """A function was selected."""

    type: Literal["select"]
    operation: Operation
    reason: str


class CancelEvent(_Event):
    """A function does not wait any more: it ran (`reason` is `complete`), was refused, or is no longer wanted."""

    type: Literal["cancel"]
    operation: Operation
    reason: str


class CallEvent(_Event):
    """The model calls a function; corrections of the call are not told apart from it."""

    type: Literal["call"]
    id: str
    operation: Operation
    arguments: dict[str, Any]


class ExecuteEvent(_Event):
    """A call has its value, after the last attempt."""

    type: Literal["execute"]
    id: str
    operation: Operation
    arguments: dict[str, Any]
    value: Any = None


class DescribeEvent(_Event):
    """Results were put into words."""

    type: Literal["describe"]
    executions: tuple[Prompt, ...]
    text: str


class TextEvent(_Event):
    """Something was said."""

    type: Literal["text"]
    role: Literal["user", "assistant"]
    text: str


class RequestEvent(_Event):
    """A request goes to the model. `body` is a copy; `options` are the provider's."""

    type: Literal["request"]
    source: Source
    body: dict[str, Any]
    options: dict[str, Any] | None = None


class ResponseEvent(_Event):
    """The model's answer to a request: `value` is the completion as it came."""

    type: Literal["response"]
    source: Source
    body: dict[str, Any]
    options: dict[str, Any] | None = None
    value: Any = None


class PauseEvent(_Event):
    """The turn waits for an answer to `pending`; see `NestiaAgent.answer`."""

    type: Literal["pause"]
    pending: PendingRequest


NestiaEvent = (
    InitializeEvent
    | SelectEvent
    | CancelEvent
    | CallEvent
    | ExecuteEvent
    | DescribeEvent
    | TextEvent
    | RequestEvent
    | ResponseEvent
    | PauseEvent
)
_events: TypeAdapter[NestiaEvent] = TypeAdapter(Annotated[NestiaEvent, Field(discriminator="type")])


def make_event(kind: str, number: int, turn_id: str, now_ms: int, fields: dict[str, Any]) -> NestiaEvent:
    """The event of a type."""
    return _events.validate_python({"type": kind, "number": number, "turn_id": turn_id, "created_ms": now_ms, **fields})
