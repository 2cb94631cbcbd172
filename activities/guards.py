"""Running guardrails: which of them a turn has, in which order they judge, and what their verdicts come to.

They run in the order in which the app registers them. Each reads what the one before left, and the first block ends it. They
run beside the worker's own loop, as tools do, each within its own time.
"""

import asyncio
import hashlib
import inspect
import logging
from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from activities.conversation import ErrorDetails
from activities.daemon_threads import DaemonThreads
from activities.errors import GUARDRAIL_BLOCKED, GUARDRAIL_FAILED, SYS_GUARDRAIL_REQUIRED_MISSING
from activities.guard_contracts import GuardNote
from activities.guardrail import Block, GuardContext, Guardrail, Pass, Sanitise, Stage, Verdict
from activities.json_values import clean_text
from activities.model_failures import final
from activities.personas import Persona
from activities.side_loop import SideLoop
from activities.turn_input import TurnInput

REASON_CHARS = 500
MAX_TEXT_CHARS = 2_000_000
REMEMBERED = 2_000
REMEMBERED_CHARS = 20_000

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Judged:
    """The text that goes on, what was noted on the way, and the error of a block."""

    text: str
    notes: tuple[GuardNote, ...] = ()
    error: ErrorDetails | None = None


@dataclass(frozen=True, slots=True)
class _Failure:
    """A judge that gave no verdict."""

    why: str


class Guards:
    """The guardrails of a worker. `threads` bounds the sync ones that run at once."""

    def __init__(self, guardrails: Iterable[Guardrail] = (), *, threads: int = 32) -> None:
        self._guardrails = tuple(guardrails)
        self._threads = DaemonThreads("turnhold-guardrail", threads)
        self._loop = SideLoop("guardrail")
        self._remembered: OrderedDict[tuple[Any, ...], Judged] = OrderedDict()

    @property
    def judge_input(self) -> bool:
        """Whether any of them judges what the user says: nothing else may read it first then."""
        return any("input" in each.stages for each in self._guardrails)

    def of_turn(self, turn_id: str, conversation_id: str, persona: Persona, given: TurnInput) -> "TurnGuards":
        """Those of one turn: what its persona has, what the app requires, and what the turn itself asks for.

        Raises:
            ApplicationError: SYS_GUARDRAIL_REQUIRED_MISSING: it names one that this worker does not have.
        """
        own = given.instance.persona if given.instance is not None else None
        asked = {*(given.required_guardrails or ()), *((own.guardrails or ()) if own is not None else ())}
        known = {each.name for each in self._guardrails}
        if missing := sorted({*asked, *(persona.guardrails or ())} - known):
            names = ", ".join(missing)
            raise final(SYS_GUARDRAIL_REQUIRED_MISSING, f"this worker has no guardrail named {names}"[:1_000])
        chosen = tuple(
            each
            for each in self._guardrails
            if each.required or persona.guardrails is None or each.name in asked or each.name in persona.guardrails
        )
        context = GuardContext("input", turn_id, conversation_id, given.user_id, given.organization_id, persona.id)
        return TurnGuards(self, chosen, context)

    async def judge(self, guardrails: Iterable[Guardrail], text: str, context: GuardContext) -> Judged:
        """Let each of them judge."""
        notes: list[GuardNote] = []
        for each in guardrails:
            verdict = await self._verdict(each, text, context)
            if isinstance(verdict, Pass):
                continue
            note = _note(each, verdict, context)
            notes.append(note)
            if isinstance(verdict, Sanitise):
                text = verdict.text
            elif isinstance(verdict, Block) or each.on_error == "block":
                return Judged(text, tuple(notes), _error(note))
        return Judged(text, tuple(notes))

    async def judge_again(self, guardrails: tuple[Guardrail, ...], text: str, context: GuardContext) -> Judged:
        """As `judge`, for a text that is read again and again: a verdict is kept, but for one that failed."""
        digest = hashlib.sha256(text.encode("utf-8", "replace")).digest()
        key = (digest, len(text), replace(context, turn_id=""), tuple(each.name for each in guardrails))
        known = self._remembered.get(key)
        if known is not None:
            self._remembered.move_to_end(key)
            return known if known.notes else Judged(text)
        judged = await self.judge(guardrails, text, context)
        if not any(note.verdict == "failed" for note in judged.notes) and len(judged.text) <= REMEMBERED_CHARS:
            self._remembered[key] = judged if judged.notes else Judged("")
            while len(self._remembered) > REMEMBERED:
                self._remembered.popitem(last=False)
        return judged

    def close(self) -> None:
        """Stop the loop of the async ones. Only when nothing runs any more."""
        self._loop.close()

    async def _verdict(self, guardrail: Guardrail, text: str, context: GuardContext) -> Verdict | _Failure:
        try:
            async with asyncio.timeout(guardrail.timeout):
                said = await self._said(guardrail, text, context)
        except TimeoutError:
            said = _Failure(f"gave no verdict within {guardrail.timeout:g} seconds")
        verdict = _read(said, text)
        if isinstance(verdict, _Failure):
            logger.warning("guardrail %s %s (turn %s)", guardrail.name, verdict.why, context.turn_id)
        return verdict

    async def _said(self, guardrail: Guardrail, text: str, context: GuardContext) -> Any:
        said: Any = guardrail
        if not guardrail.is_async:
            said = await _outcome(self._threads.submit(_contained, guardrail, text, context))
            if not inspect.isawaitable(said):
                return said
        loop = await self._loop.responsive()
        return await _outcome(asyncio.run_coroutine_threadsafe(_awaited(said, text, context), loop))


@dataclass(frozen=True, slots=True)
class TurnGuards:
    """The guardrails of one turn, and whose text they judge."""

    guards: Guards
    guardrails: tuple[Guardrail, ...]
    context: GuardContext

    def at(self, stage: Stage) -> tuple[Guardrail, ...]:
        """Those that judge at a stage, in order."""
        return tuple(each for each in self.guardrails if stage in each.stages)

    def seconds(self, stage: Stage) -> float:
        """How long they may take together for one text; 0 where there are none."""
        return sum(each.timeout for each in self.at(stage))

    async def judge(self, stage: Stage, text: str, tool: str | None = None) -> Judged:
        """Judge one text. Results are read with every request, so what was said of one is kept."""
        context = replace(self.context, stage=stage, tool=tool)
        if stage == "result":
            return await self.guards.judge_again(self.at(stage), text, context)
        return await self.guards.judge(self.at(stage), text, context)


def _read(said: Any, text: str) -> Verdict | _Failure:
    """The verdict in whatever a judge gave back."""
    match said:
        case Pass() | Block() | _Failure():
            return said
        case Sanitise(text=str() as kept) if len(kept) <= MAX_TEXT_CHARS:
            if not kept.strip():
                return Block(_reason(said) or "nothing of the text was left")
            return Pass() if kept == text else replace(said, text=clean_text(kept))
        case Sanitise(text=str()):
            return _Failure(f"gave a text of more than {MAX_TEXT_CHARS:,} characters")
    return _Failure(f"gave back a {type(said).__name__}, not Pass, Sanitise or Block")


def _note(guardrail: Guardrail, verdict: Sanitise | Block | _Failure, context: GuardContext) -> GuardNote:
    match verdict:
        case Sanitise():
            kind, reason = "sanitised", _reason(verdict)
        case Block():
            kind, reason = "blocked", _reason(verdict) or f"blocked by guardrail {guardrail.name}"
        case _Failure(why):
            kind, reason = "failed", f"guardrail {guardrail.name} {why}"
    return GuardNote.model_validate(
        {"guardrail": guardrail.name, "stage": context.stage, "verdict": kind, "reason": reason, "tool": context.tool}
    )


def _reason(verdict: Sanitise | Block) -> str:
    return clean_text(verdict.reason)[:REASON_CHARS] if isinstance(verdict.reason, str) else ""


def _error(note: GuardNote) -> ErrorDetails:
    code = GUARDRAIL_FAILED if note.verdict == "failed" else GUARDRAIL_BLOCKED
    details = {"guardrail": note.guardrail, "stage": note.stage} | ({"tool": note.tool} if note.tool else {})
    return ErrorDetails(code=code, message=note.reason, details=details)


def _contained(guardrail: Guardrail, text: str, context: GuardContext) -> Any:
    try:
        return guardrail.judge(text, context)
    except BaseException as error:
        return _failure(error)


async def _awaited(said: Any, text: str, context: GuardContext) -> Any:
    try:
        made: Any = said.judge(text, context) if isinstance(said, Guardrail) else said
        return await made
    except BaseException as error:
        return _failure(error)


def _failure(error: BaseException) -> _Failure:
    # Its message may repeat the text it could not judge.
    return _Failure(f"raised {type(error).__name__}")


async def _outcome(future: Future[Any]) -> Any:
    return await asyncio.wrap_future(future)
