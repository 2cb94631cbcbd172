"""What a turn does with answers around its pauses: early ones, late ones, strangers. Pure.

One door for every answer. While a pause is open it is the pause that judges; an answer before any pause is kept for the call
it names; an answer to a call that is over is told so. Nothing is dropped without a trace.
"""

from collections import deque
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from activities.json_values import encoded_size
from workflows.answers import Answer, AnsweredCall, Refusal
from workflows.contracts import ItemReason, RejectedAnswer
from workflows.pause import Accepted, Pause

MAX_EARLY = 64
MAX_REJECTED_KEPT = 100
MAX_REJECTED_BYTES = 256_000
Channel = Literal["signal", "update", "early", "unknown"]


@dataclass(frozen=True, slots=True)
class Early:
    """An answer that came before its call: it will be kept."""

    answer: Answer


@dataclass(slots=True)
class Inbox:
    """The answers of one turn. `pause` is the open one, or None."""

    owner: str
    pause: Pause | None = None
    early: list[Answer] = field(default_factory=list)
    rejected: deque[RejectedAnswer] = field(default_factory=deque)
    rejected_count: int = 0
    # Bytes of each of `rejected`. Measured anew with every message, a flood of them would hold up a task for too long.
    _sizes: deque[int] = field(default_factory=deque)
    # The pause that each call of an earlier one belongs to.
    _ended: dict[str, Pause] = field(default_factory=dict)
    _worker_calls: set[str] = field(default_factory=set)

    def open(self, pause: Pause, worker_calls: set[str]) -> None:
        """A pause begins; `worker_calls` of the same round are not the host's to answer."""
        self.pause = pause
        self._worker_calls |= worker_calls

    def close(self) -> None:
        """The pause is settled; later answers to its calls are told how it ended."""
        if self.pause is not None:
            self._ended |= dict.fromkeys(self.pause.call_ids, self.pause)
        self.pause = None

    def judge(self, answer: Answer) -> Accepted | Early | Refusal:
        """What would become of the answer now. Changes nothing; a refusal has a reason for each result."""
        verdict = self._verdict(answer)
        return _of_every_item(answer, verdict) if isinstance(verdict, Refusal) else verdict

    def _verdict(self, answer: Answer) -> Accepted | Early | Refusal:
        if answer.user_id is not None and answer.user_id != self.owner:
            return _refuse_all(answer, "belongs to another user's turn")
        if faults := self._faults_of_ended(answer):
            return Refusal(faults)
        live = replace(answer, items=tuple(item for item in answer.items if item.call_id not in self._ended))
        repeated = tuple(item for item in answer.items if item.call_id in self._ended)
        if not live.items:
            return Accepted((), repeated)
        if self.pause is None:
            return self._judge_early(live)
        verdict = self.pause.judge(live)
        return verdict if isinstance(verdict, Refusal) else Accepted(verdict.new, (*verdict.repeated, *repeated))

    def keep(self, early: Early) -> None:
        """Keep what is new of an early answer for its call; the same result again changes nothing."""
        new = self._new_items(early.answer)
        if new:
            self.early.append(replace(early.answer, items=new))

    def matching_early(self) -> list[Answer]:
        """The parts of early answers that the open pause asked for, taken out of the box, oldest first.

        Each was accepted when it came, so all of them are to be taken before one that fills may shut the others out.
        """
        pause = self.pause
        if pause is None:
            return []
        matching, rest = [], []
        for answer in self.early:
            here = tuple(item for item in answer.items if pause.knows(item.call_id))
            elsewhere = tuple(item for item in answer.items if not pause.knows(item.call_id))
            if here:
                matching.append(replace(answer, items=here))
            if elsewhere:
                rest.append(replace(answer, items=elsewhere))
        self.early = rest
        return matching

    def reject(self, refusal: Refusal, channel: Channel, now: datetime) -> None:
        """Record an answer that was not used. The newest that fit into one query are kept, all are counted."""
        self.rejected_count += 1
        self.rejected.append(RejectedAnswer(at=now, channel=channel, reasons=refusal.reasons))
        self._sizes.append(encoded_size(self.rejected[-1]) + 1)
        while len(self.rejected) > 1 and (
            len(self.rejected) > MAX_REJECTED_KEPT or sum(self._sizes) >= MAX_REJECTED_BYTES
        ):
            self.rejected.popleft()
            self._sizes.popleft()

    def reject_unused(self, now: datetime) -> None:
        """At the end of the turn: early answers whose call never came."""
        for answer in self.early:
            self.reject(_refuse_all(answer, "names a call that this turn never made"), "early", now)
        self.early = []

    def _faults_of_ended(self, answer: Answer) -> tuple[ItemReason, ...]:
        faults = []
        for item in answer.items:
            if item.call_id in self._worker_calls:
                faults.append(ItemReason(tool_call_id=item.call_id, reason="is run by the worker; leave it out"))
            elif (pause := self._ended.get(item.call_id)) is not None:
                verdict = pause.judge(replace(answer, items=(item,)))
                if isinstance(verdict, Refusal):
                    faults.extend(verdict.reasons)
        return tuple(faults)

    def _judge_early(self, answer: Answer) -> Early | Refusal:
        kept = sum(len(early.items) for early in self.early)
        if kept + len(self._new_items(answer)) > MAX_EARLY:
            return _refuse_all(answer, f"came before its call, and at most {MAX_EARLY} early results are kept")
        return Early(answer)

    def _new_items(self, answer: Answer) -> tuple[AnsweredCall, ...]:
        known = {(item.call_id, item.digest) for early in self.early for item in early.items}
        return tuple(item for item in answer.items if (item.call_id, item.digest) not in known)


def _refuse_all(answer: Answer, reason: str) -> Refusal:
    return Refusal(tuple(ItemReason(tool_call_id=item.call_id, reason=reason) for item in answer.items))


def _of_every_item(answer: Answer, refusal: Refusal) -> Refusal:
    """An answer is refused whole, so its good results are named too: nobody shall take them for accepted."""
    named = {reason.tool_call_id for reason in refusal.reasons}
    unnamed = [item.call_id for item in answer.items if item.call_id not in named]
    good = "is in order, but an answer is taken whole or not at all; send it again without the others"
    return Refusal((*refusal.reasons, *(ItemReason(tool_call_id=call_id, reason=good) for call_id in unnamed)))
