"""The app whose worker is killed: one tool that may be repeated and one that may not. Both leave a trace of every run."""

import asyncio

from tests.chaos.effects import Ledger
from worker.app import AgentApp, ToolContext, tool

REPEATABLE, ONCE = "note", "charge"


@tool(idempotent=True, name=REPEATABLE)
async def note(seconds: float, context: ToolContext) -> dict[str, str]:
    """Write a note, under the call's idempotency key.

    Args:
        seconds: How long it takes.
    """
    return await _effect(REPEATABLE, seconds, context)


@tool(name=ONCE)
async def charge(seconds: float, context: ToolContext) -> dict[str, str]:
    """Charge a card: it must not happen twice.

    Args:
        seconds: How long it takes.
    """
    return await _effect(ONCE, seconds, context)


async def _effect(name: str, seconds: float, context: ToolContext) -> dict[str, str]:
    ledger = Ledger.of_environment()
    number = ledger.began(name, context.idempotency_key, context.turn_id, context.call_id)
    await asyncio.sleep(seconds)
    ledger.finished(number)
    return {"done": context.idempotency_key}


app = AgentApp(tools=[note, charge])
