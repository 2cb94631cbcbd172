"""Sound and pictures in the store: written once with what has their address, read by their owner, gone with their turn."""

import pytest
from sqlalchemy import delete

from activities.media import MediaInvalidError, MediaItem, media_item
from activities.store import media as media_module
from activities.store.database import Database
from activities.store.errors import MediaFull, TurnClosed
from activities.store.media import MediaStore
from activities.store.tables import conversations, turns
from activities.store.turn_store import TurnStore
from tests.activities.store.values import begin, calls, commit, result

SOUND = media_item("audio", b"\0\xff" * 100, "pcm16")
OTHER = media_item("audio", b"\1\xff" * 100, "pcm16")


@pytest.fixture
def open_turn(store: TurnStore) -> TurnStore:
    """A store in which turn t1 of Ada is open and has called a tool."""
    store.claim(begin(userId="ada", organizationId="acme"), "p")
    store.put_rows("t1", [(1, calls("k1"))])
    return store


@pytest.fixture
def kept(database: Database) -> MediaStore:
    return MediaStore(database)


def finish(store: TurnStore, *items: MediaItem) -> None:
    store.finish_tool_run(store.start_tool_run("t1", "k1", "d").key, result("k1"), 2, media=items)


def of_ada(kept: MediaStore, item: MediaItem) -> bytes | None:
    found = kept.of_user(item.url("t1"), "acme", "ada")
    return None if found is None else found.data


def test_it_is_kept_with_the_result_whose_run_made_it(open_turn: TurnStore, kept: MediaStore) -> None:
    finish(open_turn, SOUND)

    found = kept.of_turn(SOUND.url("t1"), "t1")

    assert found is not None
    assert (found.data, found.size, found.sha256) == (SOUND.data, 200, SOUND.sha256)
    assert (found.kind, found.format, found.mime, found.turn_id) == ("audio", "pcm16", "audio/pcm", "t1")


def test_of_two_runs_the_first_stands_with_what_it_made(open_turn: TurnStore, kept: MediaStore) -> None:
    finish(open_turn, SOUND, SOUND)
    finish(open_turn, SOUND)
    finish(open_turn, OTHER)

    assert of_ada(kept, SOUND) == SOUND.data
    assert of_ada(kept, OTHER) is None


def test_only_its_owner_and_its_turn_get_it(open_turn: TurnStore, kept: MediaStore) -> None:
    finish(open_turn, SOUND)
    url = SOUND.url("t1")

    assert kept.of_user(url, "acme", "ada") is not None
    assert kept.of_user(url, "acme", "eve") is None
    assert kept.of_user(url, None, "ada") is None
    assert kept.of_user(url, "other", "ada") is None
    assert kept.of_turn(url, "t2") is None
    assert kept.of_user(SOUND.url("t2"), "acme", "ada") is None
    with pytest.raises(MediaInvalidError, match="is not an address"):
        kept.of_user("turnhold://media/' OR 1=1", "acme", "ada")


def test_a_turn_that_is_full_keeps_nothing_of_the_run(
    open_turn: TurnStore, kept: MediaStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(media_module, "MAX_TURN_BYTES", 300)

    with pytest.raises(
        MediaFull, match="a turn keeps 300 bytes of audio and images, has 0 and has no room for 400 more"
    ):
        finish(open_turn, SOUND, OTHER)

    run = open_turn.tool_run("t1:k1")
    assert run is not None
    assert run.state == "started"
    assert of_ada(kept, SOUND) is None
    finish(open_turn, SOUND)
    assert of_ada(kept, SOUND) == SOUND.data


def test_what_a_late_run_made_is_kept_for_a_turn_that_may_be_reset(open_turn: TurnStore, kept: MediaStore) -> None:
    key = open_turn.start_tool_run("t1", "k1", "d").key
    open_turn.commit(commit())
    with pytest.raises(TurnClosed):
        open_turn.finish_tool_run(key, result("k1"), 2, media=(SOUND,))
    assert of_ada(kept, SOUND) == SOUND.data


def test_it_goes_with_its_turn(open_turn: TurnStore, kept: MediaStore, database: Database) -> None:
    finish(open_turn, SOUND)
    with database.write() as connection:
        connection.execute(delete(turns))
        connection.execute(delete(conversations))
    assert of_ada(kept, SOUND) is None
