"""The tables. JSON stands in text columns, written by pydantic; instants are milliseconds since 1970, UTC.

They live in a registry of their own, so that an app with SQLModel tables of the same names can run in the same process.
"""

from sqlalchemy import BigInteger, Dialect, ForeignKey, Index, LargeBinary, Table, Text, UniqueConstraint, false, text
from sqlalchemy.orm import registry
from sqlalchemy.types import TypeDecorator
from sqlmodel import Field, SQLModel

from activities.json_values import clean_text


class PlainText(TypeDecorator[str]):
    """Text that every database takes: NUL, which PostgreSQL refuses, and lone surrogates become U+FFFD."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Clean on the way in, compared values too, so that what was stored is found again."""
        return None if value is None else storable(value)


def storable(text: str) -> str:
    """The text as a `PlainText` column keeps it."""
    if text.isascii() and "\0" not in text:
        return text
    return clean_text(text).replace("\0", "\ufffd")


class StoreTable(SQLModel, registry=registry()):
    """Base of the tables of this store."""


class Conversation(StoreTable, table=True):
    """Who owns a conversation, the position its next turn gets, and the functions it has chosen."""

    __tablename__ = "conversations"

    id: str = Field(sa_type=PlainText, primary_key=True)
    organization_id: str | None = Field(sa_type=PlainText)
    user_id: str = Field(sa_type=PlainText)
    persona_id: str = Field(sa_type=PlainText)
    session_id: str | None = Field(sa_type=PlainText)
    created_ms: int = Field(sa_type=BigInteger)
    updated_ms: int = Field(sa_type=BigInteger)
    next_position: int
    selection: str | None = Field(default=None, sa_type=Text)


class Turn(StoreTable, table=True):
    """The ledger of turns. The partial index is what makes two open turns of one conversation impossible."""

    __tablename__ = "turns"
    __table_args__ = (
        UniqueConstraint("conversation_id", "position", name="uq_turns_position"),
        Index(
            "uq_turns_open",
            "conversation_id",
            unique=True,
            sqlite_where=text("state = 'open'"),
            postgresql_where=text("state = 'open'"),
        ),
    )

    id: str = Field(sa_type=PlainText, primary_key=True)
    conversation_id: str = Field(sa_type=PlainText, sa_column_args=[ForeignKey("conversations.id")])
    position: int
    workflow_id: str = Field(sa_type=PlainText)
    run_id: str = Field(sa_type=PlainText)
    first_run_id: str = Field(sa_type=PlainText)
    organization_id: str | None = Field(sa_type=PlainText)
    user_id: str = Field(sa_type=PlainText)
    persona_id: str = Field(sa_type=PlainText)
    state: str = Field(sa_type=Text)
    input: str = Field(sa_type=Text)
    memory_text: str | None = Field(sa_type=PlainText)
    memory_plan: str | None = Field(sa_type=Text)
    output: str | None = Field(sa_type=Text)
    usage: str | None = Field(sa_type=Text)
    created_ms: int = Field(sa_type=BigInteger)
    ended_ms: int | None = Field(sa_type=BigInteger)
    streams: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    sources: str | None = Field(default=None, sa_type=Text)


class MessageRow(StoreTable, table=True):
    """One message of a turn. `role` repeats what the body says, so that rows can be told apart without parsing them."""

    __tablename__ = "messages"

    turn_id: str = Field(
        sa_type=PlainText, primary_key=True, sa_column_args=[ForeignKey("turns.id", ondelete="CASCADE")]
    )
    row: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    role: str = Field(sa_type=Text)
    body: str = Field(sa_type=Text)


class TurnChunkRow(StoreTable, table=True):
    """One chunk of the output of a turn that streams. `row` is that of the message it belongs to.

    `attempt` numbers the writers of one reply from 1; it is 0 for a chunk that no such writer wrote. Text that is `withdrawn`
    is gone from the body; its number stays.
    """

    __tablename__ = "turn_chunks"
    __table_args__ = (
        Index(
            "ix_turn_chunks_ended",
            "created_ms",
            sqlite_where=text("type = 'final_response_marker'"),
            postgresql_where=text("type = 'final_response_marker'"),
        ),
    )

    turn_id: str = Field(
        sa_type=PlainText, primary_key=True, sa_column_args=[ForeignKey("turns.id", ondelete="CASCADE")]
    )
    sequence: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    row: int | None
    attempt: int
    type: str = Field(sa_type=Text)
    withdrawn: bool
    body: str = Field(sa_type=PlainText)
    created_ms: int = Field(sa_type=BigInteger)


class ToolRunRow(StoreTable, table=True):
    """One run of a worker's tool, written before the tool starts: a run cut off in the middle leaves a trace."""

    __tablename__ = "tool_runs"

    key: str = Field(sa_type=PlainText, primary_key=True)
    turn_id: str = Field(sa_type=PlainText, index=True, sa_column_args=[ForeignKey("turns.id", ondelete="CASCADE")])
    call_id: str = Field(sa_type=PlainText)
    arguments_digest: str = Field(sa_type=Text)
    state: str = Field(sa_type=Text)
    result: str | None = Field(sa_type=Text)
    attempts: str | None = Field(default=None, sa_type=Text)


class MediaRow(StoreTable, table=True):
    """A sound or a picture of a turn, whole. Its key is made of the turn and the bytes."""

    __tablename__ = "media"

    key: str = Field(sa_type=Text, primary_key=True)
    turn_id: str = Field(sa_type=PlainText, index=True, sa_column_args=[ForeignKey("turns.id", ondelete="CASCADE")])
    kind: str = Field(sa_type=Text)
    format: str = Field(sa_type=Text)
    mime: str = Field(sa_type=Text)
    size: int = Field(sa_type=BigInteger)
    sha256: str = Field(sa_type=Text)
    body: bytes = Field(sa_type=LargeBinary)
    created_ms: int = Field(sa_type=BigInteger)


class MemorySnapshot(StoreTable, table=True):
    """The newest version of a scope's memory. Small, so that asking for the version costs no blob."""

    __tablename__ = "memory_snapshots"

    organization_id: str = Field(sa_type=PlainText, primary_key=True)
    user_id: str = Field(sa_type=PlainText, primary_key=True)
    persona_id: str = Field(sa_type=PlainText, primary_key=True)
    version: int = Field(sa_type=BigInteger)
    schema_version: int
    updated_ms: int = Field(sa_type=BigInteger)


class MemorySnapshotVersion(StoreTable, table=True):
    """The last versions of a scope's memory, the newest included."""

    __tablename__ = "memory_snapshot_versions"

    organization_id: str = Field(sa_type=PlainText, primary_key=True)
    user_id: str = Field(sa_type=PlainText, primary_key=True)
    persona_id: str = Field(sa_type=PlainText, primary_key=True)
    version: int = Field(sa_type=BigInteger, primary_key=True)
    schema_version: int
    sha256: str = Field(sa_type=Text)
    blob: bytes = Field(sa_type=LargeBinary)
    saved_ms: int = Field(sa_type=BigInteger)


class StoredHistory(StoreTable, table=True):
    """A history that begins a conversation, named by its owner and content."""

    __tablename__ = "stored_histories"

    ref: str = Field(sa_type=PlainText, primary_key=True)
    organization_id: str | None = Field(sa_type=PlainText)
    user_id: str = Field(sa_type=PlainText)
    body: str = Field(sa_type=Text)
    created_ms: int = Field(sa_type=BigInteger)


class PersonaRow(StoreTable, table=True):
    """The newest version of a persona, as JSON."""

    __tablename__ = "personas"

    id: str = Field(sa_type=PlainText, primary_key=True)
    version: int = Field(sa_type=BigInteger)
    body: str = Field(sa_type=Text)
    updated_ms: int = Field(sa_type=BigInteger)


class Organization(StoreTable, table=True):
    """Limits of an organisation's memory in place of the service's own. NULL inherits."""

    __tablename__ = "organizations"

    id: str = Field(sa_type=PlainText, primary_key=True)
    max_total_tokens: int | None
    default_recall_limit: int | None
    max_index_items: int | None


class ApiKey(StoreTable, table=True):
    """A key of the memory service. Its secret is not here, only the SHA-256 of it."""

    __tablename__ = "api_keys"
    __table_args__ = (Index("uq_api_keys_prefix", "prefix", unique=True),)

    id: str = Field(sa_type=Text, primary_key=True)
    prefix: str = Field(sa_type=Text)
    secret_sha256: str = Field(sa_type=Text)
    name: str = Field(sa_type=PlainText)
    organization_id: str = Field(sa_type=PlainText, index=True)
    user_id: str = Field(sa_type=PlainText)
    persona_id: str = Field(sa_type=PlainText)
    scopes: str = Field(sa_type=Text)
    created_ms: int = Field(sa_type=BigInteger)
    expires_ms: int | None = Field(sa_type=BigInteger)
    revoked_ms: int | None = Field(sa_type=BigInteger)
    last_used_ms: int | None = Field(sa_type=BigInteger)


class IdempotencyRecord(StoreTable, table=True):
    """What a request was answered, stored together with what it did: sent again, it gets this and does nothing.

    `body` is NULL when a memory that stood in it was removed since.
    """

    __tablename__ = "idempotency_records"

    organization_id: str = Field(sa_type=PlainText, primary_key=True)
    user_id: str = Field(sa_type=PlainText, primary_key=True)
    persona_id: str = Field(sa_type=PlainText, primary_key=True)
    request_key: str = Field(sa_type=PlainText, primary_key=True)
    fingerprint: str = Field(sa_type=Text)
    status: int
    body: str | None = Field(sa_type=Text)
    expires_ms: int = Field(sa_type=BigInteger, index=True)


class DatabaseIdentity(StoreTable, table=True):
    """One row, which tells this database from any other."""

    __tablename__ = "database_identity"

    id: str = Field(sa_type=Text, primary_key=True)


metadata = StoreTable.metadata


# The transactions speak Core, which costs a fraction of what sessions and identity maps do.
conversations: Table = metadata.tables["conversations"]
turns: Table = metadata.tables["turns"]
messages: Table = metadata.tables["messages"]
turn_chunks: Table = metadata.tables["turn_chunks"]
tool_runs: Table = metadata.tables["tool_runs"]
media: Table = metadata.tables["media"]
memory_snapshots: Table = metadata.tables["memory_snapshots"]
memory_snapshot_versions: Table = metadata.tables["memory_snapshot_versions"]
stored_histories: Table = metadata.tables["stored_histories"]
personas: Table = metadata.tables["personas"]
organizations: Table = metadata.tables["organizations"]
api_keys: Table = metadata.tables["api_keys"]
idempotency_records: Table = metadata.tables["idempotency_records"]
database_identity: Table = metadata.tables["database_identity"]
