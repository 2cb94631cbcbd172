"""`python -m worker.memory show | export FILE | import FILE`: look at a scope's memory, take it out, put it in.

A snapshot file has the JSON shape of the original TypeScript engine. The worker need not run, and may.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from activities.memory_keeper import DEFAULT_ORGANIZATION, MemoryKeeper
from activities.store.database import Database, open_database
from activities.store.errors import SnapshotConflict, StoreError
from activities.store.memory_plans import last_plan
from activities.store.records import Scope
from activities.store.snapshots import SnapshotStore
from memory_engine import SCHEMA_VERSION, CognitiveMemory, MemoryEngineError, dump_snapshot, parse_snapshot
from worker.app import AppInvalid, load_app
from worker.memory_report import memory_report
from worker.settings import SettingsInvalid, load_settings

MAX_FILE_BYTES = 256 * 1024 * 1024
DEFAULT_USER = "local"

Command = Callable[[Database, Scope, argparse.Namespace], str]


class CommandRefused(Exception):
    """What was asked cannot be done; the message says why."""


def main() -> int:
    """Run one command. The exit code is 0 when it did what was asked, 1 when not, 2 for a wrong command line."""
    given = _parser().parse_args()
    command: Command = given.command
    try:
        settings = load_settings()
        scope = Scope(given.organization, given.user, given.persona or _default_persona(settings.app))
        database = open_database(settings.database_url)
        try:
            told = command(database, scope, given)
        finally:
            database.close()
    except _FAULTS as fault:
        sys.stderr.write(f"{given.name}: {fault}\n")
        return 1
    sys.stdout.write(f"{told}\n")
    return 0


_FAULTS = (OSError, ValueError, StoreError, MemoryEngineError, SettingsInvalid, AppInvalid, CommandRefused)


def show(database: Database, scope: Scope, given: argparse.Namespace) -> str:
    """The memory as a person would want it."""
    snapshots = SnapshotStore(database)
    version = snapshots.version(scope)
    last = last_plan(database, scope, is_default_organization=scope.organization_id == DEFAULT_ORGANIZATION)
    return MemoryKeeper(snapshots).read(scope, lambda engine: memory_report(engine, scope, version, last, given.query))


def export(database: Database, scope: Scope, given: argparse.Namespace) -> str:
    """Write the newest snapshot to a file."""
    version, blob = SnapshotStore(database).load(scope)
    if blob is None:
        raise CommandRefused("nothing is remembered for this user, persona and organization")
    engine = CognitiveMemory()
    engine.load_snapshot(parse_snapshot(blob))
    _write(given.file, blob)
    return f"version {version} is in {given.file}, memories: {len(engine)}"


def import_(database: Database, scope: Scope, given: argparse.Namespace) -> str:
    """Make a file's snapshot the memory of a scope.

    Raises:
        CommandRefused: the scope has memories already and `--replace` is not given, or it changed in the meantime.
        MemoryEngineError: the file is damaged, or a newer program wrote it.
    """
    engine = CognitiveMemory()
    report = engine.load_snapshot(parse_snapshot(_read(given.file)))
    blob = dump_snapshot(engine.get_snapshot())
    snapshots = SnapshotStore(database)
    version = snapshots.version(scope)
    if not given.replace and _is_used(snapshots, scope, version):
        raise CommandRefused(
            "this user, persona and organization have a memory already; --replace puts the file in its place"
        )
    try:
        saved = snapshots.save(scope, version, blob, SCHEMA_VERSION, int(time.time() * 1000))
    except SnapshotConflict as conflict:
        why = "a newer program wrote it" if conflict.newer_schema else "it changed in the meantime; try again"
        raise CommandRefused(f"the memory was not replaced: {why}") from None
    odd = "".join(f"\nnote: {problem}" for problem in report.problems)
    return f"the file is version {saved} now, memories: {len(engine)}{odd}"


def _default_persona(app: str | None) -> str:
    return load_app(app).personas.ids[0]


def _is_used(snapshots: SnapshotStore, scope: Scope, version: int) -> bool:
    if version == 0:
        return False
    # A memory that cannot be read may hold everything: it counts as used.
    blob = snapshots.read(scope).blob
    engine = CognitiveMemory()
    engine.load_snapshot(None if blob is None else parse_snapshot(blob))
    return len(engine) > 0 or bool(engine.tensions()) or bool(engine.self_model.domains)


def _read(file: Path) -> bytes:
    if file.stat().st_size > MAX_FILE_BYTES:
        raise CommandRefused(f"{file} has more than {MAX_FILE_BYTES:,} bytes")
    return file.read_bytes()


def _write(file: Path, blob: bytes) -> None:
    """Write the file whole or not at all, for its owner's eyes only: it is somebody's memory."""
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(blob)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


def _parser() -> argparse.ArgumentParser:
    scope = argparse.ArgumentParser(add_help=False)
    scope.add_argument("--user", default=DEFAULT_USER, help="whose memory (default: %(default)s)")
    scope.add_argument("--persona", help="with which persona (default: the default one of the app TURNHOLD_APP names)")
    scope.add_argument("--organization", default=DEFAULT_ORGANIZATION, help="in which one (default: %(default)s)")
    parser = argparse.ArgumentParser(prog="python -m worker.memory", description=__doc__)
    commands = parser.add_subparsers(required=True, dest="name", metavar="COMMAND")
    shown = commands.add_parser("show", parents=[scope], help="print it for people")
    shown.add_argument("--query", metavar="TEXT", help="also what a message of this text would get, and a search find")
    shown.set_defaults(command=show)
    exported = commands.add_parser("export", parents=[scope], help="write it to a file")
    exported.add_argument("file", type=Path, metavar="FILE")
    exported.set_defaults(command=export)
    imported = commands.add_parser("import", parents=[scope], help="make a file the memory")
    imported.add_argument("file", type=Path, metavar="FILE")
    imported.add_argument("--replace", action="store_true", help="in place of what is remembered now")
    imported.set_defaults(command=import_)
    return parser


if __name__ == "__main__":
    sys.exit(main())
