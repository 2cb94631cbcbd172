"""Database addresses as people write them, and as the drivers want them."""

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

# A dead peer or a deaf one is noticed within these; whoever knows better says so in the address.
_POSTGRES_DEFAULTS = {
    "connect_timeout": "5",  # seconds
    "tcp_user_timeout": "15000",  # milliseconds
    "keepalives_idle": "30",  # seconds
    "application_name": "turnhold",
}


def driver_url(address: str) -> URL:
    """The address with our driver: `sqlite:///file`, `sqlite:////absolute/file` or `postgresql://user@host/name`.

    Raises:
        ValueError: another kind of database, no file, or no address at all. The message never shows a password.
    """
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        raise ValueError("the database address must look like sqlite:///file or postgresql://user@host/name") from None
    match url.drivername:
        case "sqlite" | "sqlite+pysqlite":
            return _sqlite(url)
        case "postgresql" | "postgres" | "postgresql+psycopg":
            return _postgres(url)
    raise ValueError(f"a database of kind {url.drivername!r} is not supported: use sqlite:///… or postgresql://…")


def _sqlite(url: URL) -> URL:
    if not url.database or ":memory:" in url.database or url.query.get("mode") == "memory":
        raise ValueError("the database needs a file, such as sqlite:///turnhold.db: memory would forget paused turns")
    return url.set(drivername="sqlite+pysqlite")


def _postgres(url: URL) -> URL:
    missing = {name: value for name, value in _POSTGRES_DEFAULTS.items() if name not in url.query}
    return url.set(drivername="postgresql+psycopg").update_query_dict(missing)
