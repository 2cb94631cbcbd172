"""`python -m worker.media URL > FILE`: the bytes of a sound or a picture that an output names, `turnhold://media/…`.

async with MediaReader("postgresql://…") as reader:
    sound = await reader.read(output.audio_output.url, user_id="ada")
"""

import argparse
import asyncio
import sys
from typing import Self

from activities.media import MediaInvalidError
from activities.store.database import Database, open_database
from activities.store.errors import StoreError
from activities.store.media import Media as Media
from activities.store.media import MediaStore
from worker.settings import SettingsInvalid, load_settings


class MediaNotFound(LookupError):
    """There is nothing at this address, or it is not for whoever asks."""


class MediaReader:
    """Reads sound and pictures from the database of the workers. It belongs to one event loop."""

    def __init__(self, database_url: str) -> None:
        self._url = database_url
        self._database: Database | None = None
        self._opening = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the database."""
        async with self._opening:
            if self._database is not None:
                await asyncio.to_thread(self._database.close)
                self._database = None

    async def read(self, url: str, *, user_id: str = "local", organization_id: str | None = None) -> Media:
        """What is at an address. It is given to the user whose turn made it, and to nobody else.

        Raises:
            MediaNotFound, StoreUnavailable.
            ValueError: it is no address of media.
        """
        store = await self._store()
        return _found(url, await asyncio.to_thread(store.of_user, url, organization_id, user_id))

    async def read_of_turn(self, url: str, turn_key: str) -> Media:
        """What is at an address, if the turn of this key made it. Raises as `read`."""
        store = await self._store()
        return _found(url, await asyncio.to_thread(store.of_turn, url, turn_key))

    async def _store(self) -> MediaStore:
        async with self._opening:
            if self._database is None:
                self._database = await asyncio.to_thread(open_database, self._url)
            return MediaStore(self._database)


def main() -> int:
    """Write the bytes to the standard output. The exit code is 1 when there are none."""
    parser = argparse.ArgumentParser(prog="python -m worker.media", description=__doc__.partition("\n")[0])
    parser.add_argument("url", help="turnhold://media/…, from audioOutput or imageOutput")
    parser.add_argument("--user", default="local", help="the user whose turn it was")
    parser.add_argument("--organization", default=None)
    given = parser.parse_args()
    try:
        found = asyncio.run(_read(given.url, given.user, given.organization))
    except (LookupError, MediaInvalidError, StoreError, SettingsInvalid) as fault:
        print(f"no media: {fault}", file=sys.stderr)
        return 1
    sys.stdout.buffer.write(found.data)
    return 0


async def _read(url: str, user_id: str, organization_id: str | None) -> Media:
    async with MediaReader(load_settings().database_url) as reader:
        return await reader.read(url, user_id=user_id, organization_id=organization_id)


def _found(url: str, media: Media | None) -> Media:
    if media is None:
        raise MediaNotFound(f"there is nothing at {url} for you")
    return media


if __name__ == "__main__":
    sys.exit(main())
