"""A whole conversation over the updates of an instance, which take and give bounded pages."""

from collections.abc import Mapping, Sequence
from typing import Any

from activities.errors import SYS_VALIDATION_ERROR
from activities.history_messages import MAX_MESSAGES, MAX_MESSAGES_BYTES
from activities.json_values import encoded_size
from worker.gmi.channel import Channel
from worker.gmi.errors import GMIError

Json = Mapping[str, Any]
# A page of messages leaves room for the rest of the request.
PAGE_BYTES = MAX_MESSAGES_BYTES - 6_000


async def write_history(channel: Channel, name: str, messages: Sequence[Json]) -> None:
    """Make the messages the conversation, page by page; a page ends where a turn does.

    Raises:
        GMIError: a turn alone is larger than a page, or a page was refused.
    """
    for number, page in enumerate(_pages(messages)):
        await channel.update(name, {"messages": page, "append": number > 0})


async def read_history(channel: Channel, name: str) -> list[dict[str, Any]]:
    """All messages, asked for page by page from the newest."""
    read: list[dict[str, Any]] = []
    before: str | None = None
    while True:
        page = await channel.update(name, {} if before is None else {"before": before})
        read = [*page["messages"], *read]
        before = page["cursor"]
        if before is None:
            return read


def _pages(messages: Sequence[Json]) -> list[list[dict[str, Any]]]:
    """The messages in pages that one update takes. The first page stands even when there is nothing to put on it."""
    pages: list[list[dict[str, Any]]] = [[]]
    turn: list[dict[str, Any]] = []
    for message in (*messages, None):
        if turn and (message is None or message.get("role") == "user"):
            if pages[-1] and not _fits([*pages[-1], *turn]):
                pages.append([])
            if not _fits(turn):
                raise GMIError(SYS_VALIDATION_ERROR, "messages: one turn of the history is too large to be sent")
            pages[-1].extend(turn)
            turn = []
        if message is not None:
            turn.append(dict(message))
    return pages


def _fits(messages: list[dict[str, Any]]) -> bool:
    return len(messages) <= MAX_MESSAGES and encoded_size(messages) <= PAGE_BYTES
