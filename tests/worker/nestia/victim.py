"""An agent in a process of its own, for a test that kills it: `python -m tests.worker.nestia.victim JSON`."""

import asyncio
import json
import sys

from openai import AsyncOpenAI

from tests.worker.nestia.agents import DIRECT, shop_controller
from worker.connect import connect
from worker.nestia import NestiaAgent


async def main(given: dict[str, str]) -> None:
    """Say one thing to an agent of the shop."""
    agent = NestiaAgent(
        provider={"api": AsyncOpenAI(api_key="sk-of-a-victim", base_url=given["model"]), "model": "scripted-1"},
        controllers=[shop_controller(given["shop"])],
        config=DIRECT,
        temporal=await connect(target_host=given["temporal"]),
        database_url=given["database"],
        conversation_id=given["conversation"],
    )
    async with agent:
        await agent.conversate("Order a lamp")


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
