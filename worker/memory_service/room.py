"""How much one memory may hold of each kind: every change is stored with all of it."""

from worker.memory_service.errors import full

MOST_MEMORIES = 100_000
MOST_TENSIONS = 5_000
MOST_DOMAINS = 1_000


def need_room(held: int, added: int, most: int, what: str) -> None:
    """Look whether so many more fit.

    Raises:
        ApiError: 409, they do not.
    """
    if held + added > most:
        raise full(f"this memory has {held} {what}, and room for {most}")
