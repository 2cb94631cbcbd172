"""The model of the benchmarks, in a process of its own so that it burdens neither side: `python -m benchmarks.model_server`.

A message that says `use NAME N times` gets N rounds with one call of that tool; everything ends in the same words. Nothing is
kept of a request, and nothing about it is checked, so that the answer costs the same for everybody.
"""

import asyncio
import re
from typing import Any

from benchmarks.processes import announce_and_wait
from worker.demo_script import Saying
from worker.scripted_model import ScriptedModel

WORDS = "The parcel left the depot this morning and arrives on Friday."

_ROUNDS = re.compile(r"use (\w+) (\d+) times")


def reply(request: dict[str, Any]) -> Saying:
    """What the model says: the next round of calls, or the words."""
    messages: list[dict[str, Any]] = request["messages"]
    newest = max(place for place, message in enumerate(messages) if message["role"] == "user")
    asked = _ROUNDS.search(str(messages[newest]["content"]))
    done = sum(message["role"] == "assistant" for message in messages[newest + 1 :])
    if asked is None or done >= int(asked[2]):
        return Saying(WORDS)
    return Saying(calls=((asked[1], {}),))


async def serve() -> None:
    """Serve until the process is told to stop."""
    async with ScriptedModel(reply, log_limit=0, strict=False) as model:
        await announce_and_wait(model.base_url)


if __name__ == "__main__":
    asyncio.run(serve())
