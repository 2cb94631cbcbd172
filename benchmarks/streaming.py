"""How soon readers have what the model says, and what streaming costs: `python -m benchmarks.streaming [--quick]`.

The worker runs in a process of its own; the model, its clock and the readers share the other one.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI

from benchmarks.processes import running
from benchmarks.stage import KEY, MODEL, QUESTION, size_of
from benchmarks.tables import Line, machine, milliseconds, table
from tests.postgres import missing_postgres, running_postgres
from worker.chunks import ChunkReader, text_of_chunks
from worker.client import Turn, TurnClient
from worker.dev_server import DevServer, dev_server
from worker.scripted_model import ScriptedModel
from worker.scripted_responses import Response
from worker.scripted_streams import DONE, pieces

TOKENS = 300
PACE = 0.005
READERS = 50
FIRST_TOKEN_TARGET = 0.100
# The model thinks before it says its first word, so that readers have gone to sleep.
THINKING = 0.3
STREAM = {"stream": True}


@dataclass(slots=True)
class Mouth:
    """What the model says: `TOKENS` tokens, the first when `go` is set. `asked` is set by the request."""

    pace: float
    go: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    def __call__(self, request: dict[str, Any]) -> Response:
        self.asked.set()
        script: list[Any] = [_delta(""), self.go]
        for number in range(TOKENS):
            script += [_delta(f"token{number} "), self.pace] if self.pace else [_delta(f"token{number} ")]
        return pieces(*script, _delta("", "stop"), DONE)


@dataclass(frozen=True, slots=True)
class Place:
    """One database with its worker."""

    name: str
    url: str
    turns: TurnClient
    model: ScriptedModel


async def measure(samples: int, databases: Sequence[str]) -> None:
    """Everything, printed as it is found."""
    print(f"# Streaming\n\n{machine()}\n", flush=True)
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="turnhold-bench-")))
        server = await stack.enter_async_context(dev_server(folder))
        model = await stack.enter_async_context(ScriptedModel(log_limit=0, strict=False))
        lines = [await _straight(model, samples)]
        costs, crowds = [], []
        for name in databases:
            async with _place(name, folder, server, model) as place:
                lines.append(await _first_token(place, samples))
                costs.append(await _cost(place))
                crowds.append(await _crowd(place))
        print(table("From the model's first token to the reader", ("p50", "p95", "max"), lines))
        print(table(f"A turn of {TOKENS} tokens", ("whole", "streamed", "events", "streamed", "chunks"), costs))
        print(table(f"{READERS} readers of one turn", ("chunks", "p50", "p95", "max"), crowds))
    print(machine())


async def _straight(model: ScriptedModel, samples: int) -> Line:
    """The same token read by the SDK without anything between."""
    taken = []
    async with AsyncOpenAI(api_key=KEY, base_url=model.base_url, max_retries=0) as client:
        for _ in range(samples):
            model.handler = mouth = Mouth(0.0)
            stream: Any = await client.chat.completions.create(
                model=MODEL, messages=[{"role": "user", "content": QUESTION}], stream=True
            )
            await anext(stream)
            await asyncio.sleep(THINKING)
            mouth.go.set()
            began = time.perf_counter()
            await anext(stream)
            taken.append(time.perf_counter() - began)
            await stream.close()
    return Line("straight from the model", _percentiles(taken))


async def _first_token(place: Place, samples: int) -> Line:
    taken = []
    async with ChunkReader(place.url) as reader:
        for _ in range(samples):
            place.model.handler = mouth = Mouth(PACE)
            turn = await place.turns.start(QUESTION, options=STREAM)
            stream = turn.stream(reader)
            first = asyncio.ensure_future(anext(stream))
            await mouth.asked.wait()
            await asyncio.sleep(THINKING)
            began = time.perf_counter()
            mouth.go.set()
            assert (await first).content
            taken.append(time.perf_counter() - began)
            async for _chunk in stream:
                pass
    p50 = statistics.median(taken)
    return Line(place.name, _percentiles(taken), f"p50 ≤ {milliseconds(FIRST_TOKEN_TARGET)}", p50 <= FIRST_TOKEN_TARGET)


async def _cost(place: Place) -> Line:
    whole, streamed = [], []
    for _ in range(8):
        whole.append(await _timed(place, {}))
        streamed.append(await _timed(place, STREAM))
    events = [(await size_of(turn.handle)).events for _, turn in (whole[-1], streamed[-1])]
    async with ChunkReader(place.url) as reader:
        chunks = [chunk async for chunk in streamed[-1][1].stream(reader)]
    assert text_of_chunks(chunks) == (await streamed[-1][1].result()).response_text
    walls = [milliseconds(statistics.median(wall for wall, _ in some)) for some in (whole, streamed)]
    figures = (*walls, *map(str, events), str(len(chunks)))
    return Line(place.name, figures, "no event more", events[0] == events[1])


async def _timed(place: Place, options: dict[str, Any]) -> tuple[float, Turn]:
    mouth = Mouth(0.0)
    mouth.go.set()
    words = "".join(f"token{number} " for number in range(TOKENS))
    place.model.handler = mouth if options else lambda _: words
    began = time.perf_counter()
    turn = await place.turns.start(QUESTION, options=options)
    await turn.result()
    return time.perf_counter() - began, turn


async def _crowd(place: Place) -> Line:
    """Fifty readers; how old each chunk is when each of them has it."""
    ages: list[float] = []
    texts = set()
    place.model.handler = mouth = Mouth(PACE)
    turn = await place.turns.start(QUESTION, options=STREAM)
    async with ChunkReader(place.url) as reader:

        async def read() -> int:
            told = []
            async for chunk in turn.stream(reader):
                ages.append(time.time() - chunk.timestamp.timestamp())
                told.append(chunk)
            texts.add(text_of_chunks(told))
            return len(told)

        reading = [asyncio.ensure_future(read()) for _ in range(READERS)]
        await asyncio.sleep(THINKING)
        mouth.go.set()
        counts = set(await asyncio.gather(*reading))
    met = len(counts) == len(texts) == 1 and texts == {(await turn.result()).response_text}
    return Line(place.name, (str(max(counts)), *_percentiles(ages)), "all see all, once", met)


@asynccontextmanager
async def _place(name: str, folder: Path, server: DevServer, model: ScriptedModel) -> AsyncIterator[Place]:
    async with AsyncExitStack() as stack:
        url = f"sqlite:///{folder}/streaming.db"
        if name == "PostgreSQL":
            url = stack.enter_context(running_postgres()).url()
        queue = f"streaming-{name.lower()}"
        environment = {
            "TEMPORAL_ADDRESS": server.address,
            "TURNHOLD_DATABASE_URL": url,
            "TURNHOLD_TASK_QUEUE": queue,
            "TURNHOLD_MODEL": MODEL,
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": model.base_url,
        }
        log = folder / f"{name}.log"
        await stack.enter_async_context(running("benchmarks.workers", log=log, environment=environment))
        yield Place(name, url, TurnClient(await server.connect(), queue), model)


def _percentiles(taken: Sequence[float]) -> tuple[str, str, str]:
    ordered = sorted(taken)
    chosen = statistics.median(ordered), ordered[int(len(ordered) * 0.95)], ordered[-1]
    return (milliseconds(chosen[0]), milliseconds(chosen[1]), milliseconds(chosen[2]))


def _delta(content: str, finish: str | None = None) -> dict[str, Any]:
    return {"model": MODEL, "choices": [{"index": 0, "delta": {"content": content}, "finish_reason": finish}]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streaming", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer turns, and noisier")
    kinds = ["SQLite"] if missing_postgres() else ["SQLite", "PostgreSQL"]
    asyncio.run(measure(10 if parser.parse_args().quick else 40, kinds))
