"""What an instance thinks beside its turns: how its user feels, and what it makes of itself. One of each at a time.

Nothing here holds a turn up, and no failure here fails anything.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    import workflows.gmi_adaptation as adaptation
    import workflows.gmi_steps as steps
    from activities.instance_contracts import Reflect
    from activities.sentiment import AssessMessage
    from workflows.gmi_contracts import UnassessedMessage
    from workflows.gmi_members import InstanceMembers
    from workflows.gmi_reflection import SELF_ADJUSTMENT, add_pending, prompt_of
    from workflows.gmi_refusal import only, read_object, read_text
    from workflows.gmi_sentiment import take_sentiment, tracking_of

TRACE_TOLD = 20
TRIGGER = "_trigger_and_process_self_reflection"


class InstanceThoughts(InstanceMembers):
    """Thoughts over the state of one instance."""

    def __init__(self, arguments: Sequence[Any]) -> None:
        super().__init__(arguments)
        self._reflection: asyncio.Task[None] | None = None
        self._assessment: asyncio.Task[None] | None = None
        self._member(TRIGGER, self._read_reflection, self._trigger_and_process_self_reflection)

    @property
    def _may_think(self) -> bool:
        return self._may_reflect or self._may_assess

    @property
    def _may_reflect(self) -> bool:
        return self._reflection is None and bool(self._state.reflections)

    @property
    def _may_assess(self) -> bool:
        return self._assessment is None and bool(self._state.unassessed)

    @property
    def _is_thinking(self) -> bool:
        return self._reflection is not None or self._assessment is not None

    def _think(self) -> None:
        """Begin what may begin."""
        if self._may_assess:
            self._assessment = asyncio.create_task(self._assess(self._state.unassessed.pop(0)))
        if self._may_reflect:
            self._reflection = asyncio.create_task(self._reflect(self._state.reflections.pop(0)))

    def _stop_thinking(self) -> None:
        for task in (self._reflection, self._assessment):
            if task is not None:
                task.cancel()

    async def _assess(self, message: UnassessedMessage) -> None:
        """Let it be said how the user feels who wrote this."""
        state, tracking = self._state, tracking_of(self._state.persona)
        if tracking is not None:
            request = AssessMessage(text=message.text, model=tracking.model_id or state.own_persona.model)
            by_model = tracking.method == "llm"
            assessed = await (steps.ask_sentiment(request, state.patience) if by_model else steps.look_up(request))
            take_sentiment(state, message, assessed, workflow.now())
        self._assessment = None

    async def _reflect(self, prompt_id: str) -> None:
        """Ask the model about the instance, and grant what it wishes for within bounds."""
        state = self._state
        prompt = prompt_of(state.own_persona, prompt_id)
        if prompt is None:
            self._reflection = None
            return
        state.is_reflecting = True
        state.note("SELF_REFLECTION_START", prompt_id, workflow.now())
        trace = [entry.model_dump(mode="json", by_alias=True, exclude_none=True) for entry in state.trace[-TRACE_TOLD:]]
        request = Reflect(
            gmi_id=state.gmi_id,
            scope=state.scope,
            conversation_id=state.conversation_id,
            prompt=prompt,
            persona=state.own_persona,
            mood=state.mood,
            traits=state.traits,
            working_memory=state.working_memory,
            trace=tuple(trace),
        )
        reflection = await steps.reflect(request, state.patience)
        adaptation.take_reflection(state, prompt_id, reflection, workflow.now())
        state.note("SELF_REFLECTION_COMPLETE", prompt_id, workflow.now())
        state.is_reflecting, self._reflection = False, None

    def _read_reflection(self, arguments: Sequence[Any]) -> str:
        given = only(read_object(arguments, TRIGGER), TRIGGER, "metaPromptId")
        return read_text(given, "metaPromptId", TRIGGER) if "metaPromptId" in given else SELF_ADJUSTMENT

    async def _trigger_and_process_self_reflection(self, prompt_id: str) -> dict[str, Any]:
        """Reflect now, and wait until it is done. Without such a meta prompt, or while one is at work, it is skipped."""
        state = self._state
        if prompt_of(self._persona, prompt_id) is None or state.is_reflecting:
            why = "another one is at work" if state.is_reflecting else f"the persona has no meta prompt {prompt_id!r}"
            state.note("SELF_REFLECTION_SKIPPED", why, workflow.now())
            return {"skipped": why}
        state.note("SELF_REFLECTION_TRIGGERED", prompt_id, workflow.now())
        add_pending(state.reflections, [prompt_id])
        await workflow.wait_condition(
            lambda: (prompt_id not in state.reflections and not state.is_reflecting) or state.is_shut_down
        )
        return {"mood": state.mood, "traits": state.traits}
