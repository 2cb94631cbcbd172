"""The pause of a turn: calls that wait for the host, and what closes each of them. Pure; time is a parameter.

The law of this file: a call has one slot, a slot is closed once, and the first to close it wins. An answer is taken whole
or refused whole. `judge` decides and changes nothing, so an update validator can ask before anything enters the history;
`take` and `fill` change and cannot fail.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from activities.conversation import ErrorDetails, ToolCallResult
from activities.errors import EXTERNAL_TOOL_NOT_RUN, TOOL_CALL_REJECTED
from activities.json_schema import schema_fault
from activities.json_values import encoded_size
from workflows.answers import Answer, AnsweredCall, Approve, Edit, Failure, Output, Refusal, Reject, Resolution
from workflows.budget import raise_fault
from workflows.contracts import ItemReason, PendingCall, SlotState

FillReason = Literal[
    "left_out",
    "deadline",
    "call_timeout",
    "settled",
    "cancelled",
    "superseded",
    "turn_deadline",
    "failed",
    "moved_on",
]

# A refusal names so many of the calls that wait.
MAX_LISTED = 20
# A record has the schemas of its calls as far as they fit: hundreds of calls of a tool with a large one are no record.
SHOWN_SCHEMA_BYTES = 200_000

# The model reads these, so each says what did not happen and why, and none sounds like a person's refusal.
FILL_MESSAGES: dict[FillReason, str] = {
    "left_out": "The host did not run this call: its answer left it out. Nothing was executed.",
    "deadline": "Nothing was executed: no answer came before the deadline of the pause.",
    "call_timeout": "Nothing was executed: no answer came within the time this call is given.",
    "settled": "The host ended the pause without running this call. Nothing was executed.",
    "cancelled": "Nothing was executed: the turn was cancelled while this call was waiting.",
    "superseded": "Nothing was executed: the user moved on to a new message while this call was waiting.",
    "turn_deadline": "Nothing was executed: the turn reached its own deadline while this call was waiting.",
    "failed": "Nothing was executed: the turn failed before this call was run.",
    "moved_on": "Nothing was executed here: the agent that made this call does not wait for it any more.",
}


def agent_of(call_id: str) -> tuple[str, str] | None:
    """The call that started the sub-agent whose call this is, and the id the agent has for it; None for a call of the turn."""
    call, dot, rest = call_id.partition(".")
    return (call, rest) if dot else None


def not_run(call_id: str, tool_name: str, reason: FillReason) -> ToolCallResult:
    """The result that stands for a call nobody ran."""
    error = ErrorDetails(code=EXTERNAL_TOOL_NOT_RUN, message=FILL_MESSAGES[reason])
    said = {"code": error.code, "message": error.message}
    return ToolCallResult(tool_call_id=call_id, tool_name=tool_name, output=said, is_error=True, error_details=error)


@dataclass(slots=True)
class Slot:
    """One call and what closed it: an answer's `resolution`, or the reason it was filled.

    `call` is judged by, `shown` stands in the record: the same call, or where room is short without its schemas.
    """

    call: PendingCall
    shown: PendingCall
    resolution: Resolution | None = None
    digest: str | None = None
    filled: FillReason | None = None

    @property
    def state(self) -> SlotState:
        """open, answered or filled."""
        if self.filled:
            return "filled"
        return "open" if self.resolution is None else "answered"

    @property
    def runs_in_worker(self) -> bool:
        """Whether a person let the worker run the call: its result is still to come."""
        approved = isinstance(self.resolution, Approve | Edit) or self.human_part is not None
        return approved and self.is_models

    @property
    def is_models(self) -> bool:
        """Whether the model of this turn made the call, so that it needs a result: not the turn itself, nor a sub-agent."""
        return self.call.kind != "budget" and agent_of(self.call.id) is None

    @property
    def human_part(self) -> Output | None:
        """The part of the arguments that a person gave."""
        return self.resolution if self.call.kind == "human" and isinstance(self.resolution, Output) else None

    def result(self) -> ToolCallResult | None:
        """The result the host or the fill gave; None while open and for a call the worker runs, or that is not the model's."""
        call = self.call
        if not self.is_models:
            return None
        if self.filled:
            return not_run(call.id, call.name, self.filled)
        if self.runs_in_worker:
            return None
        match self.resolution:
            case Output(value):
                return ToolCallResult(tool_call_id=call.id, tool_name=call.name, output=value)
            case Failure(error, output):
                return _failed(call, error, output)
            case Reject(reason):
                return _failed(call, ErrorDetails(code=TOOL_CALL_REJECTED, message=_rejection(call, reason)))
        return None


@dataclass(frozen=True, slots=True)
class Accepted:
    """An answer that will be taken: `new` closes slots, `repeated` was given before, word for word."""

    new: tuple[AnsweredCall, ...]
    repeated: tuple[AnsweredCall, ...]


@dataclass(slots=True)
class Pause:
    """The calls of one round that wait for the host, in call order. `deadlines` are those of single calls."""

    pause_id: str
    slots: list[Slot]
    deadline: datetime
    _by_id: dict[str, Slot] = field(init=False)

    def __post_init__(self) -> None:
        self._by_id = {slot.call.id: slot for slot in self.slots}

    @classmethod
    def of(cls, pause_id: str, calls: Iterable[PendingCall], deadline: datetime) -> "Pause":
        """A pause with every slot open."""
        return cls(pause_id, _slots(calls), deadline)

    def knows(self, call_id: str) -> bool:
        """Whether this pause asked for that call."""
        return call_id in self._by_id

    @property
    def call_ids(self) -> Iterable[str]:
        """Every call that this pause asked for."""
        return self._by_id.keys()

    def slot(self, call_id: str) -> Slot:
        """The slot of a call of this pause."""
        return self._by_id[call_id]

    @property
    def open_calls(self) -> list[PendingCall]:
        """Calls that still wait, in call order."""
        return [slot.call for slot in self.slots if slot.state == "open"]

    @property
    def is_settled(self) -> bool:
        """Whether nothing waits any more."""
        return all(slot.state != "open" for slot in self.slots)

    @property
    def asks_for_budget(self) -> bool:
        """Whether nothing is open but questions about limits."""
        return all(call.kind == "budget" for call in self.open_calls)

    def add(self, calls: Iterable[PendingCall]) -> None:
        """More calls wait, those of sub-agents."""
        shown = sum(_schema_bytes(slot.shown) for slot in self.slots)
        for slot in _slots(calls, SHOWN_SCHEMA_BYTES - shown):
            self.slots.append(slot)
            self._by_id[slot.call.id] = slot

    @property
    def calls(self) -> tuple[PendingCall, ...]:
        """All calls with the state of their slots, as the record shows them."""
        return tuple(slot.shown.model_copy(update={"state": slot.state}) for slot in self.slots)

    @property
    def next_deadline(self) -> datetime:
        """When `expire` has something to do."""
        own = [call.deadline for call in self.open_calls if call.deadline is not None]
        return min([self.deadline, *own])

    def judge(self, answer: Answer) -> Accepted | Refusal:
        """Whether the answer can be taken as it stands."""
        # Said once for all strangers of an answer: it names the calls that wait, and there may be a thousand strangers.
        stranger = "" if all(self.knows(item.call_id) for item in answer.items) else self._told_to_strangers()
        verdicts = [(item, self._judge_item(item) or stranger) for item in answer.items]
        faults = tuple(
            ItemReason(tool_call_id=item.call_id, reason=verdict)
            for item, verdict in verdicts
            if verdict not in ("new", "repeated")
        )
        if faults:
            return Refusal(faults)
        return Accepted(
            new=tuple(item for item, verdict in verdicts if verdict == "new"),
            repeated=tuple(item for item, verdict in verdicts if verdict == "repeated"),
        )

    def _told_to_strangers(self) -> str:
        return f"is no call of this pause; it waits for {_listed(self.open_calls)}"

    def _judge_item(self, item: AnsweredCall) -> str | None:
        """What becomes of a result; None where it names no call of this pause."""
        slot = self._by_id.get(item.call_id)
        if slot is None:
            return None
        if item.tool_name is not None and item.tool_name != slot.call.name:
            return f"belongs to the tool {slot.call.name}, not {item.tool_name}; toolName may be left out"
        if slot.state != "open":
            return _judge_closed(slot, item.digest)
        return _fault_of(slot.call, item.resolution) or "new"

    def take(self, accepted: Accepted) -> list[Slot]:
        """Close the slots of an accepted answer; these slots, in the answer's order."""
        taken = [self._by_id[item.call_id] for item in accepted.new]
        for item in accepted.new:
            slot = self._by_id[item.call_id]
            slot.resolution, slot.digest = item.resolution, item.digest
        return taken

    def fill(self, reason: FillReason) -> list[PendingCall]:
        """Close every open slot without a result of the host; the calls it closed."""
        return self._fill(self.slots, reason)

    def fill_some(self, call_ids: Iterable[str], reason: FillReason) -> list[PendingCall]:
        """Close these slots where they are open; ids of other calls are passed over. The calls it closed."""
        return self._fill([self._by_id[call_id] for call_id in call_ids if call_id in self._by_id], reason)

    def expire(self, now: datetime) -> list[PendingCall]:
        """Close what `now` is too late for: single calls past their own time, everything past the pause's."""
        if now >= self.deadline:
            return self.fill("deadline")
        late = [slot for slot in self.slots if slot.call.deadline is not None and now >= slot.call.deadline]
        return self._fill(late, "call_timeout")

    def _fill(self, slots: Sequence[Slot], reason: FillReason) -> list[PendingCall]:
        closed = [slot for slot in slots if slot.state == "open"]
        for slot in closed:
            slot.filled = reason
        return [slot.call for slot in closed]

    def results(self) -> list[ToolCallResult]:
        """The host's results in call order, then the filled ones. Calls the worker runs are not among them."""
        hosts = [slot.result() for slot in self.slots if slot.state == "answered"]
        fills = [slot.result() for slot in self.slots if slot.state == "filled"]
        return [result for result in (*hosts, *fills) if result is not None]


def _slots(calls: Iterable[PendingCall], room: int = SHOWN_SCHEMA_BYTES) -> list[Slot]:
    slots = []
    for call in calls:
        room -= _schema_bytes(call)
        shown = call if room >= 0 else call.model_copy(update={"input_schema": None, "output_schema": None})
        slots.append(Slot(call, shown))
    return slots


def _schema_bytes(call: PendingCall) -> int:
    return encoded_size((call.input_schema, call.output_schema))


def _judge_closed(slot: Slot, digest: str) -> str:
    if slot.filled:
        return f"is closed: {FILL_MESSAGES[slot.filled]}"
    if digest == slot.digest:
        return "repeated"
    return "was already answered differently; the first answer stands"


def _fault_of(call: PendingCall, resolution: Resolution) -> str | None:
    """Why a resolution does not fit the call, or None."""
    if call.kind == "budget":
        return raise_fault(call, resolution)
    if isinstance(resolution, Approve | Edit) and call.kind == "human":
        return "needs a person's part of its arguments; send that as `output`, in the shape of inputSchema, or reject"
    if isinstance(resolution, Approve | Edit) and call.kind != "approval":
        return "is run by the host, so there is nothing to approve; send `output` or `errorDetails`"
    if isinstance(resolution, Output) and call.kind == "human":
        return _schema_fault(resolution.value, call.input_schema, "output")
    if isinstance(resolution, Edit):
        return _schema_fault(resolution.arguments, call.input_schema, "arguments")
    if isinstance(resolution, Output):
        return _schema_fault(resolution.value, call.output_schema, "output")
    return None


def _schema_fault(value: object, schema: dict[str, object] | None, name: str) -> str | None:
    if schema is None:
        return None
    try:
        fault = schema_fault(schema, value, name)
    except ValueError:
        # Schemas are checked when the turn starts; one that cannot be used refuses nothing.
        return None
    return f"breaks the tool's schema: {fault}" if fault else None


def _failed(call: PendingCall, error: ErrorDetails, output: object = None) -> ToolCallResult:
    said = {"code": error.code, "message": error.message} if output is None else output
    return ToolCallResult(tool_call_id=call.id, tool_name=call.name, output=said, is_error=True, error_details=error)


def _rejection(call: PendingCall, reason: str | None) -> str:
    told = f"A person refused this call of {call.name}; it was not executed."
    return f"{told} Their reason: {reason}" if reason else told


def _listed(calls: Sequence[PendingCall]) -> str:
    listed = [f"{call.id} ({call.name})" for call in calls[:MAX_LISTED]]
    if len(calls) > MAX_LISTED:
        listed.append(f"{len(calls) - MAX_LISTED} more")
    return ", ".join(listed) or "nothing any more"
