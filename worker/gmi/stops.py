"""Waiting for the stops of a turn: its pauses, and its end. One update waits long; what comes later is asked for again."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from activities.conversation import GMIOutput
from activities.errors import SYS_NOT_INITIALIZED, SYS_RESOURCE_NOT_FOUND
from worker.gmi.channel import Channel
from worker.gmi.errors import GMIError
from workflows.gmi_contracts import InstanceStatus

Json = Mapping[str, Any]
WAIT_SECONDS = 30
ASK_AGAIN = 0.2
FIRST_ASK, LONGEST_ASK = 0.1, 2.0


@dataclass(frozen=True, slots=True)
class Stops:
    """The stops of the turns of one instance."""

    channel: Channel

    async def of_message(self, body: Json) -> GMIOutput:
        """The next stop of the turn that a message is; a sender may have to ask again, of a later run of the instance."""
        while True:
            told = await self.channel.update("process_turn", {**body, "waitSeconds": WAIT_SECONDS})
            if _has_stopped(output := GMIOutput.model_validate(told)):
                return output
            await asyncio.sleep(ASK_AGAIN)

    async def of_answer(
        self, name: str, body: Json, user_id: str, keys: Sequence[str] | None, options: Json | None
    ) -> GMIOutput:
        """The next stop behind an answer to the open pause."""
        wanted = dict(options or {})
        partial = {"partial": wanted.pop("partial")} if "partial" in wanted else {}
        if keys:
            wanted["userApiKeys"] = list(keys)
        sent = {**body, **partial, "userId": user_id} | ({"options": wanted} if wanted else {})
        output = GMIOutput.model_validate(await self.channel.update(name, {**sent, "waitSeconds": WAIT_SECONDS}))
        return output if _has_stopped(output) else await self.of_turn(output.turn_id or "")

    async def of_turn(self, turn_id: str) -> GMIOutput:
        """The next stop of a turn that runs, or the one it stands at.

        Raises:
            GMIError: SYS_RESOURCE_NOT_FOUND when the instance knows no such turn.
        """
        pause = FIRST_ASK
        while True:
            found = await self.channel.query("get_output", turn_id)
            if found is not None and _has_stopped(output := GMIOutput.model_validate(found)):
                return output
            if found is None:
                await self._place_of(turn_id)
            await asyncio.sleep(pause)
            pause = min(1.5 * pause, LONGEST_ASK)

    async def conversation_of(self, turn_id: str) -> str:
        """Where a turn belongs, once it has left the queue.

        Raises:
            GMIError: as for `of_turn`.
        """
        while True:
            if (found := await self._place_of(turn_id)) is not None:
                return found
            await asyncio.sleep(ASK_AGAIN)

    async def _place_of(self, turn_id: str) -> str | None:
        status = InstanceStatus.model_validate(await self.channel.query("get_status"))
        if (status.open_turn or {}).get("turnId") == turn_id:
            return status.conversation_id
        if (output := await self.channel.query("get_output", turn_id)) is not None:
            return str(output["conversationId"])
        if turn_id in status.queued:
            return None
        if status.state == "shutdown":
            raise GMIError(SYS_NOT_INITIALIZED, "the instance was shut down before the turn stopped")
        raise GMIError(SYS_RESOURCE_NOT_FOUND, f"the instance knows no turn {turn_id!r:.100}, or none any more")


def _has_stopped(output: GMIOutput) -> bool:
    return output.is_final or bool(output.tool_calls)
