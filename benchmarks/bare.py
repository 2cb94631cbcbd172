"""What our turn is measured against: the least workflow that asks a model and does one more step after it.

It schedules as many activities on the server as a turn without tools does, and nothing else: no store, no memory, no checks,
no heartbeats, no search attributes.
"""

from datetime import timedelta
from typing import Any

from temporalio import activity, workflow

with workflow.unsafe.imports_passed_through():
    from openai import AsyncOpenAI

BARE_TASK_QUEUE = "bare-turns"
PATIENCE = timedelta(seconds=60)


class BareActivities:
    """The two activities. `body` is the request that our own turn sends, so that both put the same bytes on the wire."""

    def __init__(self, client: AsyncOpenAI, body: dict[str, Any]) -> None:
        self._client = client
        self._body = body

    @activity.defn
    async def bare_call_model(self, content: str) -> str:
        """One chat completion."""
        completion = await self._client.chat.completions.create(**self._body)
        return completion.choices[0].message.content or ""

    @activity.defn
    async def bare_post_turn(self, reply: str) -> int:
        """Nothing: a step that costs what any step costs."""
        return len(reply)


@workflow.defn
class BareWorkflow:
    """Two activities, one after the other."""

    @workflow.run
    async def run(self, content: str) -> str:
        """The model's words."""
        reply = await workflow.execute_activity_method(
            BareActivities.bare_call_model, content, start_to_close_timeout=PATIENCE
        )
        await workflow.execute_activity_method(BareActivities.bare_post_turn, reply, start_to_close_timeout=PATIENCE)
        return reply
