"""What a store refuses and why.

    StoreError
    |- StoreUnavailable      the database cannot serve; `retryable` says whether time may heal it
    |  `- StoreBusy          somebody else holds what this transaction needs
    |     `- Collision       another transaction wrote the same key first
    |- SchemaUnknown         the database was written by a newer version of this code
    |- NotOwner              the conversation, or the turn id, is somebody else's
    |- TurnNotFound          no such turn
    |- TurnAlreadyRan        this turn id has completed before
    |- TurnClosed            the turn takes no more rows
    |- ConversationBusy      another turn of the conversation is open; `holder` names it
    |- ReplyTaken            another attempt writes the reply that this one streams, or has written it
    |- ToolRunNotFound       no such run of a tool
    |- MediaFull             the turn's sound and pictures would take more room than a turn has
    |- SnapshotConflict      somebody saved a newer snapshot first
    `- SnapshotDamaged       no kept version of the snapshot is whole

Only the first two can be worth a retry of the same request. No message holds a statement's parameters or a password.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Holder:
    """The open turn of a conversation and the workflow run that claimed it."""

    turn_id: str
    workflow_id: str
    run_id: str
    first_run_id: str


class StoreError(Exception):
    """Base of everything the stores raise on purpose. `retryable`: the same request may succeed later."""

    retryable: bool = False


class StoreUnavailable(StoreError):
    """The database cannot serve the request."""

    def __init__(self, message: str, *, retryable: bool = True) -> None:
        super().__init__(message)
        self.retryable = retryable


class StoreBusy(StoreUnavailable):
    """A lock was not free in time, or two transactions stood in each other's way. Always worth a retry."""


class Collision(StoreBusy):
    """Two transactions inserted the same key; this one lost and nothing of it was stored."""


class SchemaUnknown(StoreError):
    """The schema's revision is not one this code knows; going on could damage what a newer version wrote."""

    def __init__(self, revision: str) -> None:
        super().__init__(
            f"the database is at revision {revision}, which this version does not know: run the newer version, "
            "or restore the database it had before"
        )
        self.revision = revision


class NotOwner(StoreError):
    """The conversation or turn belongs to another organisation or user. Tell the caller only that there is none."""


class TurnNotFound(StoreError):
    """The turn was never claimed."""

    def __init__(self, turn_id: str) -> None:
        super().__init__(f"there is no turn {turn_id!r}")
        self.turn_id = turn_id


class TurnAlreadyRan(StoreError):
    """A first run may not use a turn id that another run has completed."""

    def __init__(self, turn_id: str, conversation_id: str) -> None:
        super().__init__(f"turn {turn_id!r} has already run in conversation {conversation_id!r}")
        self.turn_id = turn_id
        self.conversation_id = conversation_id


class TurnClosed(StoreError):
    """The turn has ended. A late activity of a cancelled run meets this; its rows are not wanted any more."""

    def __init__(self, turn_id: str, state: str) -> None:
        super().__init__(f"turn {turn_id!r} is closed ({state})")
        self.turn_id = turn_id
        self.state = state


class ConversationBusy(StoreError):
    """Another turn of the conversation is open. Whether its holder still lives is for the caller to find out."""

    def __init__(self, conversation_id: str, holder: Holder) -> None:
        super().__init__(
            f"conversation {conversation_id!r} has an open turn {holder.turn_id!r} (workflow {holder.workflow_id!r})"
        )
        self.conversation_id = conversation_id
        self.holder = holder


class ReplyTaken(StoreError):
    """Another attempt of the same model call has followed this one, or was faster."""

    def __init__(self, turn_id: str, row: int) -> None:
        super().__init__(f"the reply at row {row} of turn {turn_id!r} is another attempt's")
        self.turn_id = turn_id
        self.row = row


class ToolRunNotFound(StoreError):
    """No run of a tool was started under that key."""

    def __init__(self, key: str) -> None:
        super().__init__(f"there is no tool run {key!r}")
        self.key = key


class MediaFull(StoreError):
    """The turn keeps `used` bytes of sound and pictures already, and has no room for `more`."""

    def __init__(self, used: int, more: int, most: int) -> None:
        super().__init__(
            f"a turn keeps {most:,} bytes of audio and images, has {used:,} and has no room for {more:,} more"
        )
        self.used = used
        self.more = more


class PersonaConflict(StoreError):
    """The persona is not at the expected version: somebody else has put another one."""

    def __init__(self, persona_id: str, version: int) -> None:
        super().__init__(f"the persona {persona_id!r} is at version {version} now, not at the one that was expected")
        self.version = version


class SnapshotConflict(StoreError):
    """The scope is not at the expected version: load it again, apply the change again, save again.

    `newer_schema` means that waiting does not help: a newer version of the code wrote the snapshot, which this one may
    read and must not replace.
    """

    def __init__(self, expected: int, found: int, *, newer_schema: bool = False) -> None:
        reason = "it has a newer schema" if newer_schema else f"version {expected} was expected"
        super().__init__(f"the snapshot is at version {found}: {reason}")
        self.expected = expected
        self.found = found
        self.newer_schema = newer_schema


class SnapshotDamaged(StoreError):
    """A snapshot exists, and neither it nor any kept version before it matches its checksum."""
