"""Personas that stand in the database: written by hand, each put a new version, read by every worker that shares it."""

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from activities.personas import Persona
from activities.store.bodies import to_text
from activities.store.database import Database
from activities.store.errors import PersonaConflict
from activities.store.tables import personas

KEPT_PERSONAS = 256

_ONE = select(personas).where(personas.c.id == bindparam("persona_id"))
_ALL = select(personas.c.id, personas.c.version, personas.c.updated_ms).order_by(personas.c.id)
_LOCK = select(personas.c.version).where(personas.c.id == bindparam("persona_id")).with_for_update()
_NEW = insert(personas)
_NEXT = (
    update(personas)
    .where(personas.c.id == bindparam("persona_id"))
    .values(version=bindparam("next"), body=bindparam("new_body"), updated_ms=bindparam("now"))
)
_REMOVE = delete(personas).where(personas.c.id == bindparam("persona_id"))


@dataclass(frozen=True, slots=True)
class StoredPersona:
    """A persona, which version of it this is, and since when."""

    persona: Persona
    version: int
    updated_ms: int


@dataclass(frozen=True, slots=True)
class ListedPersona:
    """What a list shows of a persona."""

    id: str
    version: int
    updated_ms: int


class PersonaStore:
    """The personas of a database. Blocking; safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # What was parsed last, by id: one row tells whether it is still the newest.
        self._parsed: dict[str, StoredPersona] = {}

    def get(self, persona_id: str) -> StoredPersona | None:
        """The newest version of a persona, or None."""
        with self._database.read() as connection:
            row = connection.execute(_ONE, {"persona_id": persona_id}).one_or_none()
        if row is None:
            return None
        known = self._parsed.get(persona_id)
        if known is not None and (known.version, known.updated_ms) == (row.version, row.updated_ms):
            return known
        found = StoredPersona(Persona.model_validate_json(row.body), row.version, row.updated_ms)
        if len(self._parsed) >= KEPT_PERSONAS:
            self._parsed.clear()
        self._parsed[persona_id] = found
        return found

    def list(self) -> list[ListedPersona]:
        """All personas, by id."""
        with self._database.read() as connection:
            return [ListedPersona(*row) for row in connection.execute(_ALL)]

    def put(self, persona: Persona, now_ms: int, expected: int | None = None) -> int:
        """Store a persona as its next version, and return the number of that.

        With `expected` only if that is the newest one now, 0 for none. Of two that expect the same the second is refused.

        Raises:
            PersonaConflict: it is not.
        """
        body = to_text(persona)

        def write(connection: Connection) -> int:
            version = connection.execute(_LOCK, {"persona_id": persona.id}).scalar_one_or_none()
            if expected is not None and expected != (version or 0):
                raise PersonaConflict(persona.id, version or 0)
            if version is None:
                values = {"id": persona.id, "version": 1, "body": body, "updated_ms": now_ms}
                connection.execute(_NEW, values)
                return 1
            changed = {"persona_id": persona.id, "next": version + 1, "new_body": body, "now": now_ms}
            connection.execute(_NEXT, changed)
            return int(version) + 1

        return self._database.transact(write)

    def remove(self, persona_id: str) -> bool:
        """Remove a persona; whether there was one. Instances and turns that have it go on with their copy."""
        with self._database.write() as connection:
            return connection.execute(_REMOVE, {"persona_id": persona_id}).rowcount > 0
