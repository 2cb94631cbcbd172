"""The ledger of effects: what the tools of the chaos app really did, in a file that outlives every worker."""

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

LEDGER_VARIABLE = "CHAOS_LEDGER"


@dataclass(frozen=True, slots=True)
class Effect:
    """One execution of a tool. `finished` is false when the process died before the tool returned."""

    key: str
    tool: str
    turn_id: str
    call_id: str
    finished: bool


class Ledger:
    """Rows of effects. One connection for each use, since tools and the reader are in different processes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with closing(self._connect()) as connection:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS effects (number INTEGER PRIMARY KEY, key TEXT, tool TEXT, turn_id TEXT, "
                "call_id TEXT, finished INTEGER)"
            )

    @classmethod
    def of_environment(cls) -> "Ledger":
        """The ledger this worker was told to write to."""
        return cls(Path(os.environ[LEDGER_VARIABLE]))

    def began(self, tool: str, key: str, turn_id: str, call_id: str) -> int:
        """The effect happens now. Gives the row's number."""
        with closing(self._connect()) as connection:
            row = connection.execute(
                "INSERT INTO effects (key, tool, turn_id, call_id, finished) VALUES (?, ?, ?, ?, 0)",
                (key, tool, turn_id, call_id),
            )
            assert row.lastrowid is not None
            return row.lastrowid

    def finished(self, number: int) -> None:
        """The tool is about to return."""
        with closing(self._connect()) as connection:
            connection.execute("UPDATE effects SET finished = 1 WHERE number = ?", (number,))

    def count(self) -> int:
        """How many effects began."""
        with closing(self._connect()) as connection:
            return int(connection.execute("SELECT count(*) FROM effects").fetchone()[0])

    def effects(self) -> list[Effect]:
        """All of them, in order."""
        with closing(self._connect()) as connection:
            rows = connection.execute("SELECT key, tool, turn_id, call_id, finished FROM effects ORDER BY number")
            return [Effect(key, tool, turn, call, bool(finished)) for key, tool, turn, call, finished in rows]

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=10, isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        return connection
