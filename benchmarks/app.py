"""The app of the benchmarks: two tools that differ in the size of what they return."""

from worker.app import AgentApp, tool

DUMP_BYTES = 100_000


@tool(side_effects=False)
async def stamp() -> dict[str, bool]:
    """Put a stamp on the order."""
    return {"stamped": True}


@tool(side_effects=False)
async def dump() -> str:
    """Print the whole log of the order."""
    line = "2030-01-01 12:00:00 the parcel was scanned at a depot and loaded again\n"
    return (line * (DUMP_BYTES // len(line) + 1))[:DUMP_BYTES]


app = AgentApp(tools=[stamp, dump])
