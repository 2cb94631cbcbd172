"""What one attempt shows while its reply comes, over a real store, also when the store is in trouble."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from activities.conversation import AssistantMessage
from activities.store.chunk_store import ChunkStore, ReplyPlace
from activities.store.database import Database, open_database
from activities.store.errors import ReplyTaken, StoreUnavailable
from activities.store.turn_store import TurnStore
from activities.streaming import BATCH_CHARS, reply_stream
from activities.streaming_chunks import Draft, GMIOutputChunk, reply_drafts, text_of_chunks
from tests.activities.store.values import begin, commit
from tests.support import until

PLACE = ReplyPlace("t1", row=1, round=0)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = open_database(f"sqlite:///{tmp_path}/store.db")
    TurnStore(database).claim(begin(options={"stream": True}), "p")
    yield database
    database.close()


@pytest.fixture
def store(database: Database) -> ChunkStore:
    return ChunkStore(database)


class Troubled:
    """A store whose writes are stored and then reported lost, as long as it is told so."""

    def __init__(self, store: ChunkStore) -> None:
        self._store = store
        self.lost = 0

    def show(self, place: ReplyPlace, attempt: int | None, text: str) -> int:
        attempt = self._store.show(place, attempt, text)
        self._lose()
        return attempt

    def withdraw(self, place: ReplyPlace, attempt: int) -> None:
        self._store.withdraw(place, attempt)

    def finish(
        self,
        place: ReplyPlace,
        attempt: int | None,
        message: AssistantMessage | None,
        text: str,
        drafts: Sequence[Draft],
        *,
        anew: bool = False,
    ) -> None:
        self._store.finish(place, attempt, message, text, drafts, anew=anew)
        self._lose()

    def _lose(self) -> None:
        if self.lost:
            self.lost -= 1
            raise StoreUnavailable("the connection broke")


def told(store: ChunkStore) -> list[GMIOutputChunk]:
    return store.read("t1", 0, 10_000)


def shows(store: ChunkStore, text: str) -> Callable[[], bool]:
    return lambda: text_of_chunks(told(store)) == text


def drafts_of(message: AssistantMessage) -> list[Draft]:
    return reply_drafts(message, PLACE.row, PLACE.round, ())


async def test_the_first_piece_is_shown_at_once_and_the_finished_reply_is_the_text(store: ChunkStore) -> None:
    message = AssistantMessage(content="Hello, world")
    async with reply_stream(store, PLACE) as stream:
        stream.say("Hello,")
        await until(shows(store, "Hello,"))
        stream.say(" world")
        await stream.finish(message, drafts_of(message))
    assert text_of_chunks(told(store)) == "Hello, world"
    assert told(store)[-1].type == "step_finished"


async def test_what_comes_fast_is_written_together(store: ChunkStore) -> None:
    words = [f"word{number} " for number in range(300)]
    message = AssistantMessage(content="".join(words))
    async with reply_stream(store, PLACE) as stream:
        for word in words:
            stream.say(word)
            await asyncio.sleep(0)
        await until(lambda: text_of_chunks(told(store)))
        await stream.finish(message, drafts_of(message))
    assert text_of_chunks(told(store)) == message.content
    assert len(told(store)) < 20


async def test_a_long_piece_does_not_wait_for_its_turn(store: ChunkStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("activities.streaming.BATCH_SECONDS", 600.0)
    async with reply_stream(store, PLACE) as stream:
        stream.say("first")
        await until(shows(store, "first"))
        stream.say("x" * BATCH_CHARS)
        await until(shows(store, "first" + "x" * BATCH_CHARS))
    assert text_of_chunks(told(store)) == "first" + "x" * BATCH_CHARS


async def test_spaces_alone_are_not_shown(store: ChunkStore) -> None:
    async with reply_stream(store, PLACE) as stream:
        stream.say(" \n")
        stream.say("  ")
        await stream.finish(None, drafts_of(AssistantMessage()))
    assert [chunk.type for chunk in told(store)] == ["step_finished"]


async def test_text_that_turns_out_otherwise_is_replaced(store: ChunkStore) -> None:
    message = AssistantMessage(content="I cannot.")
    async with reply_stream(store, PLACE) as stream:
        stream.say("Sure, ")
        await until(shows(store, "Sure, "))
        await stream.finish(message, drafts_of(message))
    assert text_of_chunks(told(store)) == "I cannot."


async def test_halves_of_a_pair_meet(store: ChunkStore) -> None:
    message = AssistantMessage(content="a 😀 b")
    async with reply_stream(store, PLACE) as stream:
        stream.say("a \ud83d")
        await until(shows(store, "a "))
        stream.say("\ude00 b")
        await until(shows(store, "a 😀 b"))
        await stream.finish(message, drafts_of(message))
    assert text_of_chunks(told(store)) == message.content


@pytest.mark.parametrize("fault", [ValueError("broken"), asyncio.CancelledError()])
async def test_an_attempt_that_is_given_up_leaves_no_text(store: ChunkStore, fault: BaseException) -> None:
    async def attempt() -> None:
        async with reply_stream(store, PLACE) as stream:
            stream.say("Hello")
            await until(shows(store, "Hello"))
            raise fault

    with pytest.raises(type(fault)):
        await attempt()
    assert text_of_chunks(told(store)) == ""


async def test_an_attempt_that_was_followed_is_told_so(store: ChunkStore) -> None:
    async def attempt() -> None:
        async with reply_stream(store, PLACE) as stream:
            stream.say("mine")
            await until(shows(store, "mine"))
            store.show(PLACE, None, "theirs")
            stream.say(" on")
            await until(lambda: _is_refused(stream.say))
            stream.say("too late")

    with pytest.raises(ReplyTaken):
        await attempt()
    assert text_of_chunks(told(store)) == "theirs"


def _is_refused(say: Callable[[str], None]) -> bool:
    try:
        say("")
    except ReplyTaken:
        return True
    return False


async def test_an_attempt_whose_turn_is_over_ends(store: ChunkStore, database: Database) -> None:
    async def attempt() -> None:
        async with reply_stream(store, PLACE) as stream:
            stream.say("mine")
            await until(shows(store, "mine"))
            TurnStore(database).commit(commit(rows=1, state="cancelled"))
            stream.say(" on")
            await until(lambda: _is_refused(stream.say))
            stream.say("too late")

    with pytest.raises(ReplyTaken):
        await attempt()
    assert text_of_chunks(told(store)) == ""
    assert told(store)[-1].is_final


async def test_a_write_of_unknown_outcome_shows_nothing_twice(store: ChunkStore) -> None:
    troubled = Troubled(store)
    message = AssistantMessage(content="one two three")
    async with reply_stream(troubled, PLACE) as stream:
        stream.say("one ")
        await until(shows(store, "one "))
        troubled.lost = 2
        stream.say("two ")
        await until(lambda: troubled.lost == 0 and shows(store, "one two ")())
        stream.say("three")
        await stream.finish(message, drafts_of(message))
    assert text_of_chunks(told(store)) == "one two three"


async def test_an_end_of_unknown_outcome_is_not_withdrawn(store: ChunkStore) -> None:
    troubled = Troubled(store)
    message = AssistantMessage(content="one")

    async def attempt() -> None:
        async with reply_stream(troubled, PLACE) as stream:
            stream.say("one")
            await until(shows(store, "one"))
            troubled.lost = 1
            await stream.finish(message, drafts_of(message))

    with pytest.raises(StoreUnavailable):
        await attempt()
    assert text_of_chunks(told(store)) == "one"
