"""Reading an OpenAPI document from where an app says it is: a path, an address, its text, or the object itself."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from activities.http_client import HttpClient, NoResponse
from activities.http_connection import HttpConnection
from activities.openapi.document import MAX_BYTES
from activities.openapi.message import HttpRequest

Document = Path | str | Mapping[str, Any]
TIMEOUT = 10.0
_ACCEPT = "application/json, application/yaml, text/yaml, */*;q=0.5"


class DocumentUnreadable(Exception):
    """The document could not be read; the message says why."""


class DocumentReader:
    """Reads documents, those by address through the same guarded client as every call.

    The connection's headers are sent where the document lies on the server that will be called, and nowhere else.
    """

    def __init__(self, client: HttpClient, connection: HttpConnection, *, allow_private_addresses: bool) -> None:
        self._client = client
        self._connection = connection
        self._allow_private_addresses = allow_private_addresses

    async def read(self, document: Document) -> tuple[bytes | str | dict[str, Any], str | None]:
        """The document as it is, and its address where it has one.

        Raises:
            DocumentUnreadable: there is no such file, or the server did not give the document.
            CredentialMissing: a header of the connection names a variable that is not set.
        """
        if isinstance(document, Mapping):
            return dict(document), None
        if isinstance(document, str):
            if is_address(document):
                return await self.fetch(document), document
            if "\n" in document or document.lstrip().startswith("{"):
                return document, None
        return await asyncio.to_thread(_read_file, Path(document)), None

    async def fetch(self, address: str) -> bytes:
        """The bytes at an address. Raises as `read` does."""
        request = HttpRequest("GET", *_split(address), headers=(("Accept", _ACCEPT),))
        if _origin(address) == _origin(self._connection.host):
            given = self._connection.credentials()
            request = request.joined(query={}, headers=given.headers, cookies=given.cookies)
        try:
            answer = await self._client.send(
                request,
                timeout=TIMEOUT,
                allow_private_addresses=self._allow_private_addresses,
                max_bytes=MAX_BYTES + 1,
            )
        except NoResponse as none:
            raise DocumentUnreadable(f"the document cannot be fetched: {none}") from None
        if answer.status != 200:
            raise DocumentUnreadable(f"the document cannot be fetched: the server answered {answer.status}")
        return answer.body

    def fetcher(self) -> Callable[[str], bytes]:
        """`fetch` for a thread that may block, on the loop that runs now."""
        loop = asyncio.get_running_loop()

        def fetch(address: str) -> bytes:
            if not is_address(address):
                raise OSError("only http and https addresses are fetched")
            try:
                return asyncio.run_coroutine_threadsafe(self.fetch(address), loop).result()
            except DocumentUnreadable as fault:
                raise OSError(str(fault)) from None

        return fetch


def is_address(text: str) -> bool:
    """Whether a document is named by an address rather than by a path or by itself."""
    return text.lower().startswith(("http://", "https://"))


def _split(address: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    bare, _, query = address.partition("#")[0].partition("?")
    pairs = (pair.partition("=") for pair in query.split("&") if pair)
    return bare, tuple((name, value) for name, _, value in pairs)


def _origin(address: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(address)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def _read_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            # One byte over the limit is enough to be refused as too large.
            return file.read(MAX_BYTES + 1)
    except OSError as fault:
        raise DocumentUnreadable(f"{path} cannot be read: {fault.strerror or type(fault).__name__}") from None
