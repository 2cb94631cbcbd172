"""The memory of an instance's scope, for its caller. Source: ICognitiveMemoryManager of AgentOS, where it only reads."""

from collections.abc import Awaitable, Callable
from typing import Any


class CognitiveMemoryHandle:
    """Searches and counts; learning is the turns' business."""

    def __init__(self, ask: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]) -> None:
        self._ask = ask

    async def search(self, query: str, limit: int = 5) -> list[dict[str, Any]]:
        """What is remembered, best first: id, content, relevance."""
        return list((await self._ask({"query": query, "limit": limit}))["memories"])

    async def stats(self) -> dict[str, Any]:
        """How many memories, by tier, and how many turns were learned."""
        return dict((await self._ask({}))["stats"])

    async def scope(self) -> dict[str, Any]:
        """Whose memory it is."""
        return dict((await self._ask({}))["scope"])
