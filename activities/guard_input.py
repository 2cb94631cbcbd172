"""Judging what the user says, before any model reads it.

Until that is done the store has a placeholder in the message's place, and keeps it if the turn ends before: no later turn and
no memory reads a message that nobody judged. What was blocked stays a placeholder; what was sanitised stands as it is now.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

from temporalio import activity

from activities.contracts import PREVIEW_CHARS
from activities.conversation import Content, ContentPart, Message, TextPart, UserMessage
from activities.errors import HISTORY_UNPAIRED
from activities.guard_contracts import InputJudged, JudgeInput
from activities.guards import Guards, Judged, TurnGuards
from activities.heartbeat import heartbeats
from activities.model_failures import final
from activities.personas import Personas
from activities.store_failures import store_failures
from activities.texts import text_of
from activities.turn_reading import StoredTurn, read_turn

WITHHELD = "(The user's message was withheld by a guardrail.)"
AWAITS = "awaitsGuardrails"
VERDICT = "guardrails"
BLOCKED = "blocked"


class Store(Protocol):
    """The rows of turns, blocking."""

    def turn_and_rows(self, turn_id: str, upto: int) -> tuple[StoredTurn | None, list[tuple[int, Message]]]: ...
    def replace_input(self, turn_id: str, message: UserMessage) -> None: ...


def awaiting() -> UserMessage:
    """What stands in the place of a message that has not been judged."""
    return UserMessage(content=WITHHELD, meta={AWAITS: True})


def is_awaiting(message: Message) -> bool:
    """Whether this stands in the place of a message that has not been judged yet."""
    return bool((message.meta or {}).get(AWAITS)) if isinstance(message, UserMessage) else False


def is_withheld(message: UserMessage) -> bool:
    """Whether these are not the user's words."""
    meta = message.meta or {}
    return bool(meta.get(AWAITS) or meta.get(BLOCKED))


class GuardActivities:
    """The activity that judges the user's message."""

    def __init__(self, store: Store, personas: Personas, guards: Guards) -> None:
        self._store = store
        self._personas = personas
        self._guards = guards

    @activity.defn
    async def judge_input(self, request: JudgeInput) -> InputJudged:
        """Judge the message and put what is left of it in its place. One that was judged before is not judged again.

        Raises:
            ApplicationError: SYS_GUARDRAIL_REQUIRED_MISSING, SYS_RESOURCE_NOT_FOUND, GMI_PERSONA_NOT_FOUND or
                HISTORY_UNPAIRED, not retryable; SYS_DATABASE_ERROR.
        """
        async with heartbeats():
            with store_failures():
                turn, placed = await asyncio.to_thread(self._store.turn_and_rows, request.turn_id, 1)
            turn, persona = read_turn(turn, request.turn_id, self._personas)
            standing = placed[0][1] if placed else None
            if not isinstance(standing, UserMessage):
                raise final(HISTORY_UNPAIRED, "row 0 of the turn is not the user's message")
            if not is_awaiting(standing):
                return _told(standing)
            guards = self._guards.of_turn(request.turn_id, turn.conversation_id, persona, turn.input)
            message = await _judge(guards, turn.input.content)
            with store_failures():
                await asyncio.to_thread(self._store.replace_input, request.turn_id, message)
            return _told(message)


async def _judge(guards: TurnGuards, content: Content) -> UserMessage:
    """The message as it stands from now on. Each text of it is judged by itself."""
    if isinstance(content, str):
        judged = [await guards.judge("input", content)]
        kept: Content = judged[0].text
    else:
        judged, kept = await _judge_parts(guards, content)
    notes = [note.model_dump(mode="json", by_alias=True) for each in judged for note in each.notes]
    error = next((each.error for each in judged if each.error is not None), None)
    if error is not None:
        told = {VERDICT: notes, BLOCKED: error.model_dump(mode="json", by_alias=True)}
        return UserMessage(content=WITHHELD, meta=told)
    return UserMessage(content=kept, meta={VERDICT: notes} if notes else None)


async def _judge_parts(guards: TurnGuards, parts: Sequence[ContentPart]) -> tuple[list[Judged], Content]:
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    judged = list(await asyncio.gather(*(guards.judge("input", text) for text in texts)))
    left = iter(judged)
    kept = [TextPart(text=next(left).text) if isinstance(part, TextPart) else part for part in parts]
    return judged, tuple(kept)


def _told(message: UserMessage) -> InputJudged:
    meta: dict[str, Any] = message.meta or {}
    changed = bool(meta.get(VERDICT))
    return InputJudged(
        notes=meta.get(VERDICT, ()),
        text=text_of(message.content)[:PREVIEW_CHARS] if changed else None,
        error=meta.get(BLOCKED),
    )
