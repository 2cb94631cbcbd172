"""Readers of chunks over both databases, from a process that does not write them."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text

from activities.conversation import AssistantMessage
from activities.store.chunk_store import ChunkStore, ReplyPlace
from activities.store.database import Database, open_database
from activities.store.turn_store import TurnStore
from activities.streaming_chunks import GMIOutputChunk
from tests.activities.store.values import begin, commit
from tests.postgres import PostgresServer, missing_postgres, running_postgres
from tests.support import until
from worker import chunks as reading
from worker.chunks import (
    ChunkReader,
    ChunksGone,
    ChunksUnreadable,
    NoSuchChunk,
    NotStreamed,
    TurnBroken,
    TurnUnknown,
    text_of_chunks,
)

PLACE = ReplyPlace("t1", row=1, round=0)
STREAMING = {"stream": True}


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    if reason := missing_postgres():
        pytest.skip(reason)
    with running_postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.url(server.new_database())


@pytest.fixture
def database(address: str) -> Iterator[Database]:
    """The writer's connections, and turn `t1` open in it."""
    database = open_database(address)
    TurnStore(database).claim(begin(options=STREAMING), "p")
    yield database
    database.close()


@pytest.fixture
def chunks(database: Database) -> ChunkStore:
    return ChunkStore(database)


@pytest.fixture
async def reader(address: str) -> AsyncIterator[ChunkReader]:
    async with ChunkReader(address) as reader:
        yield reader


async def all_of(reader: ChunkReader, after: int = 0, turn: str = "t1") -> list[GMIOutputChunk]:
    async with asyncio.timeout(20):
        return [chunk async for chunk in reader.read(turn, after)]


async def write(chunks: ChunkStore, database: Database, words: int = 20) -> str:
    """A whole turn, word by word."""
    attempt, said = None, [f"word{number} " for number in range(words)]
    for word in said:
        attempt = await asyncio.to_thread(chunks.show, PLACE, attempt, word)
    message = AssistantMessage(content="".join(said))
    await asyncio.to_thread(chunks.finish, PLACE, attempt, message, "", ())
    await asyncio.to_thread(TurnStore(database).commit, commit(rows=2))
    return "".join(said)


async def test_a_reader_gets_every_chunk_once_and_then_its_end(
    reader: ChunkReader, chunks: ChunkStore, database: Database
) -> None:
    read, said = await asyncio.gather(all_of(reader), write(chunks, database))
    assert text_of_chunks(read) == said
    assert [chunk.sequence for chunk in read] == list(range(1, 22))
    assert read[-1].is_final


async def test_fifty_readers_of_one_turn_each_get_all_of_it(
    reader: ChunkReader, chunks: ChunkStore, database: Database
) -> None:
    *reads, said = await asyncio.gather(*(all_of(reader) for _ in range(50)), write(chunks, database))
    assert {text_of_chunks(read) for read in reads} == {said}  # type: ignore[arg-type]


async def test_readers_that_come_late_get_what_was_said_before(
    reader: ChunkReader, chunks: ChunkStore, database: Database
) -> None:
    said = await write(chunks, database)
    early, late = await all_of(reader), await all_of(reader, after=15)
    assert text_of_chunks(early) == said
    assert [chunk.sequence for chunk in late] == list(range(16, 22))
    assert await all_of(reader, after=21) == []


async def test_a_reader_that_connects_anew_at_every_chunk_misses_nothing(
    address: str, chunks: ChunkStore, database: Database
) -> None:
    async def read() -> list[GMIOutputChunk]:
        read: list[GMIOutputChunk] = []
        while not read or not read[-1].is_final:
            async with ChunkReader(address) as reader:
                stream = reader.read("t1", read[-1].sequence if read else 0)
                read.append(await anext(stream))
                await stream.aclose()
        return read

    async with asyncio.timeout(40):
        read_, said = await asyncio.gather(read(), write(chunks, database, 8))
    assert text_of_chunks(read_) == said
    assert [chunk.sequence for chunk in read_] == list(range(1, 10))


async def test_a_reader_of_a_quiet_turn_hears_of_the_next_chunk(reader: ChunkReader, chunks: ChunkStore) -> None:
    chunks.show(PLACE, None, "a")
    stream = reader.read("t1")
    await anext(stream)
    waiting = asyncio.ensure_future(anext(stream))
    await until(lambda: next(iter(reader._feeds.values())).status is not None)
    chunks.show(PLACE, 1, "b")
    assert (await asyncio.wait_for(waiting, 5)).content == "b"


async def test_turns_are_kept_apart(reader: ChunkReader, chunks: ChunkStore, database: Database) -> None:
    TurnStore(database).claim(begin("t2", "r2", at="c2", options=STREAMING), "p")
    chunks.show(ReplyPlace("t2", row=1, round=0), None, "of the other")
    TurnStore(database).commit(commit("t2", at="c2"))
    assert text_of_chunks(await all_of(reader, turn="t2")) == ""
    said, read = await asyncio.gather(write(chunks, database, 3), all_of(reader))
    assert text_of_chunks(read) == said


@pytest.mark.parametrize("number", [-1, 1, 10**12, "1", None, True, 1.0])
async def test_a_number_that_never_was_is_refused(reader: ChunkReader, database: Database, number: int) -> None:
    with pytest.raises(NoSuchChunk):
        await all_of(reader, after=number)


async def test_a_turn_that_does_not_stream_says_so(reader: ChunkReader, database: Database) -> None:
    TurnStore(database).claim(begin("t2", "r2", at="c2"), "p")
    with pytest.raises(NotStreamed):
        await all_of(reader, turn="t2")


async def test_a_turn_that_never_was_is_waited_for_only_so_long(
    reader: ChunkReader, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "START_SECONDS", 0.1)
    monkeypatch.setattr(reading, "ASK_SECONDS", 0.1)
    with pytest.raises(TurnUnknown):
        await all_of(reader, turn="nobody")


async def test_a_turn_that_begins_a_little_later_is_read(
    reader: ChunkReader, chunks: ChunkStore, database: Database
) -> None:
    waiting = asyncio.ensure_future(all_of(reader, turn="t2"))
    await until(lambda: "t2" in reader._feeds)
    TurnStore(database).claim(begin("t2", "r2", at="c2", options=STREAMING), "p")
    TurnStore(database).commit(commit("t2", at="c2"))
    assert [chunk.type for chunk in await waiting] == ["final_response_marker"]


async def test_chunks_that_were_removed_are_said_to_be_gone(
    reader: ChunkReader, chunks: ChunkStore, database: Database
) -> None:
    await write(chunks, database)
    with database.write() as connection:
        connection.execute(text("DELETE FROM turn_chunks"))
    for after in (0, 7):
        with pytest.raises(ChunksGone):
            await all_of(reader, after)


async def test_a_turn_that_was_terminated_is_not_waited_for(
    reader: ChunkReader, chunks: ChunkStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "ASK_SECONDS", 0.05)
    chunks.show(PLACE, None, "never finis")

    async def is_running() -> bool:
        return False

    read = []

    async def read_on() -> None:
        async for chunk in reader.read("t1", is_running=is_running):
            read.append(chunk)  # noqa: PERF401 - what was read before the error is looked at

    with pytest.raises(TurnBroken):
        await asyncio.wait_for(read_on(), 10)
    assert text_of_chunks(read) == "never finis"


async def test_a_turn_that_is_only_slow_is_waited_for(
    reader: ChunkReader, chunks: ChunkStore, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "ASK_SECONDS", 0.02)
    asked = asyncio.Event()

    async def is_running() -> bool:
        asked.set()
        return True

    async def read_on() -> list[GMIOutputChunk]:
        return [chunk async for chunk in reader.read("t1", is_running=is_running)]

    reading_on = asyncio.ensure_future(read_on())
    await asyncio.wait_for(asked.wait(), 10)
    said = await write(chunks, database, 3)
    assert text_of_chunks(await asyncio.wait_for(reading_on, 10)) == said


async def test_readers_of_a_closed_reader_end(address: str, database: Database) -> None:
    reader = ChunkReader(address)
    reading_on = asyncio.ensure_future(all_of(reader))
    await until(lambda: "t1" in reader._feeds)
    await reader.close()
    with pytest.raises(ChunksUnreadable, match="closed"):
        await reading_on
    with pytest.raises(ChunksUnreadable, match="closed"):
        await all_of(reader)


async def test_every_error_of_a_reader_is_of_one_kind() -> None:
    kinds = (TurnUnknown, NotStreamed, NoSuchChunk, ChunksGone, TurnBroken)
    assert all(issubclass(kind, ChunksUnreadable) for kind in kinds)


async def test_a_broken_connection_of_the_listener_is_made_again(postgres: PostgresServer) -> None:
    address = postgres.url(postgres.new_database())
    database = open_database(address)
    TurnStore(database).claim(begin(options=STREAMING), "p")
    async with ChunkReader(address) as reader:
        read = asyncio.ensure_future(all_of(reader))
        await until(lambda: _listeners(address))
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' "
                "AND datname = current_database()"
            )
        await until(lambda: _listeners(address))
        said = await write(ChunkStore(database), database, 5)
        assert text_of_chunks(await read) == said
    assert not _listeners(address)
    database.close()


def _listeners(address: str) -> int:
    with psycopg.connect(address, autocommit=True) as connection:
        found = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()"
        ).fetchone()
    return found[0] if found else 0
