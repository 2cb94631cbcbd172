"""What a call of an HTTP function costs beside the same request by bare httpx: `python -m benchmarks.functions_http`.

Both send the same request over loopback to a server in another process, in turns, and read the same JSON answer. Ours also
checks the arguments, writes them by the document's styles, adds credentials, and keeps the answer within its limits.
"""

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx

from activities.credentials import Security
from activities.http_client import HttpClient
from activities.http_connection import HttpConnection
from activities.http_function import HttpOptions, http_function
from activities.openapi.operation import Body, Operation, Parameter, SecurityScheme
from activities.tool import Tool, ToolContext
from benchmarks.processes import announce_and_wait, running
from benchmarks.tables import Line, machine, table

CALLS, ROUND, WARM_UP = 2_000, 50, 200
TARGET = 1.5
CONTEXT = ToolContext("turn", "conversation", "user", None, "default", "abc123xyz", "turn:abc123xyz", 1)
ORDER = {
    "id": 1042,
    "status": "delivered",
    "lines": [{"sku": f"A-{n}", "quantity": n, "price": 9.5} for n in range(20)],
}
ANSWER = json.dumps(ORDER).encode()
ITEM = {
    "type": "object",
    "properties": {"sku": {"type": "string", "maxLength": 40}, "quantity": {"type": "integer", "minimum": 1}},
    "required": ["sku"],
    "additionalProperties": False,
}
BODY: dict[str, Any] = {
    "type": "object",
    "properties": {"items": {"type": "array", "items": ITEM, "maxItems": 100}, "note": {"type": ["string", "null"]}},
    "required": ["items"],
}
ARGUMENTS: dict[str, Any] = {
    "orderId": "10 42",
    "query": {"expand": ["lines", "customer"], "limit": 20},
    "body": {"items": [{"sku": f"A-{n}", "quantity": n + 1} for n in range(10)], "note": None},
}

Call = Callable[[], Awaitable[Any]]


async def measure(calls: int) -> str:
    """The table of one run."""
    os.environ.setdefault("BENCHMARK_KEY", "benchmark-key")
    with tempfile.TemporaryDirectory(prefix="turnhold-bench-") as folder:
        async with running("benchmarks.functions_http", "--serve", log=Path(folder) / "server.log") as server:
            ours, bare = HttpClient(), httpx.AsyncClient()
            lines = []
            for method in ("GET", "POST"):
                tool = _tool(method, server.said, ours)
                lines.append(await _compared(method, _bare(method, server.said, bare), _ours(tool, method), calls))
            await ours.aclose()
            await bare.aclose()
    return table("One call over loopback", ("bare httpx p50", "ours p50", "bare p95", "ours p95", "ratio"), lines)


async def _compared(name: str, bare: Call, ours: Call, calls: int) -> Line:
    assert await bare() == (await ours())["body"]
    times: dict[Call, list[float]] = {bare: [], ours: []}
    for call in (bare, ours):
        await _timed(call, WARM_UP)
    for _ in range(calls // ROUND):
        for call, taken in times.items():
            taken += await _timed(call, ROUND)
    ratio = statistics.median(times[ours]) / statistics.median(times[bare])
    figures = [_microseconds(pick(times[call])) for pick in (statistics.median, _p95) for call in (bare, ours)]
    return Line(name, (*figures, f"{ratio:.2f}"), f"under {TARGET}", ratio < TARGET)


async def _timed(call: Call, calls: int) -> list[float]:
    taken = []
    for _ in range(calls):
        began = time.perf_counter()
        await call()
        taken.append(time.perf_counter() - began)
    return taken


def _bare(method: str, url: str, client: httpx.AsyncClient) -> Call:
    async def call() -> Any:
        response = await client.request(
            method,
            f"{url}/orders/10%2042",
            params={"expand": ["lines", "customer"], "limit": 20},
            json=ARGUMENTS["body"] if method == "POST" else None,
            headers={"Authorization": f"Bearer {os.environ['BENCHMARK_KEY']}", "Idempotency-Key": "turn:abc123xyz"},
        )
        return response.json()

    return call


def _ours(tool: Tool, method: str) -> Call:
    arguments = ARGUMENTS if method == "POST" else {key: ARGUMENTS[key] for key in ("orderId", "query")}

    async def call() -> Any:
        return await tool.bind(arguments)(CONTEXT)

    return call


def _tool(method: str, url: str, client: HttpClient) -> Tool:
    order = Parameter("orderId", "orderId", "path", True, {"type": "string"}, "simple", False)
    expand = Parameter("expand", "expand", "query", False, {"type": "array", "items": {"type": "string"}}, "form", True)
    limit = Parameter("limit", "limit", "query", False, {"type": "integer", "maximum": 100}, "form", True)
    body = Body("application/json", True, BODY) if method == "POST" else None
    query = {
        "type": "object",
        "properties": {each.key: each.schema for each in (expand, limit)},
        "additionalProperties": False,
    }
    properties = {"orderId": order.schema, "query": query, **({"body": BODY} if body else {})}
    schema = {"type": "object", "properties": properties, "required": ["orderId"], "additionalProperties": False}
    operation = Operation(
        method=method,
        path="/orders/{orderId}",
        name="orders",
        operation_id=None,
        description="",
        tags=(),
        deprecated=False,
        base_url=url,
        parameters=(order, expand, limit),
        body=body,
        security=(("token",),),
        success_types=("application/json",),
        input_schema=schema,
        human_schema=None,
        llm_schema=schema,
        output_schema=None,
    )
    return http_function(
        operation,
        client=client,
        security=Security({"token": SecurityScheme("token", "http", scheme="bearer")}, {"token": "env:BENCHMARK_KEY"}),
        connection=HttpConnection(),
        options=HttpOptions(allow_private_addresses=True),
    )


async def serve() -> None:
    """Answer every request with the order, until the process is told to stop."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(ANSWER)}\r\n\r\n".encode()

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                received = (await reader.readuntil(b"\r\n\r\n")).lower()
                _, _, rest = received.partition(b"content-length: ")
                await reader.readexactly(int(rest.partition(b"\r\n")[0] or 0))
                writer.write(head + ANSWER)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(connection, "127.0.0.1", 0)
    await announce_and_wait(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")


def _p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


def _microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} µs"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.functions_http", description=__doc__)
    parser.add_argument("--serve", action="store_true", help="be the server of a benchmark")
    parser.add_argument("--calls", type=int, default=CALLS, help="calls of each kind")
    given = parser.parse_args()
    if given.serve:
        asyncio.run(serve())
    else:
        print(f"# HTTP functions\n\n{machine()}\n\n{asyncio.run(measure(given.calls))}")
