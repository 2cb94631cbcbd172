"""`python -m worker.personas`: personas in the database that workers share.

put FILE…         store every persona of the files, each as its next version
list              id, version and time of each
get ID            a persona as JSON
remove ID         remove it; turns and instances that have it go on with their copy
check FILE…       only say whether the files are right
schema            the JSON Schema of a persona
"""

import argparse
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from activities.documents import inline_fault
from activities.personas import Persona
from activities.store.database import open_database
from activities.store.errors import StoreError
from activities.store.persona_store import PersonaStore
from worker.persona_files import load_personas
from worker.settings import SettingsInvalid, load_settings


def main() -> int:
    """Do what is asked; the exit code is 1 when it cannot be done."""
    given = _parser().parse_args()
    try:
        if given.command == "schema":
            print(json.dumps(Persona.model_json_schema(by_alias=True), indent=2, ensure_ascii=False))
            return 0
        if given.command == "check":
            for persona in _personas(given.files):
                print(f"{persona.id}: right")
            return 0
        database = open_database(load_settings().database_url)
        try:
            return _in_store(PersonaStore(database), given)
        finally:
            database.close()
    except (LookupError, StoreError, SettingsInvalid, ValueError) as fault:
        print(f"nothing was done: {fault}", file=sys.stderr)
        return 1


def _in_store(store: PersonaStore, given: argparse.Namespace) -> int:
    match given.command:
        case "put":
            return _put(store, _personas(given.files), given.expect)
        case "list":
            for each in store.list():
                since = datetime.fromtimestamp(each.updated_ms / 1000, UTC).isoformat(timespec="seconds")
                print(f"{each.id}\tversion {each.version}\t{since}")
        case "get":
            found = store.get(given.id)
            if found is None:
                raise LookupError(f"there is no persona {given.id!r} in this database")
            print(found.persona.model_dump_json(by_alias=True, exclude_defaults=True, indent=2))
        case "remove":
            if not store.remove(given.id):
                raise LookupError(f"there is no persona {given.id!r} in this database")
            print(f"{given.id}: removed")
    return 0


def _put(store: PersonaStore, personas: list[Persona], expected: int | None) -> int:
    if expected is not None and len(personas) != 1:
        raise ValueError(f"--expect is for one persona, and the files hold {len(personas)}")
    for persona in personas:
        if fault := inline_fault(persona.documents):
            raise ValueError(f"{persona.id}: {fault}")
    for persona in personas:
        version = store.put(persona, int(time.time() * 1000), expected)
        print(f"{persona.id}: version {version}")
    return 0


def _personas(files: list[Path]) -> list[Persona]:
    return [persona for file in files for persona in load_personas(file)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m worker.personas", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    put = commands.add_parser("put", help="store personas, each as its next version")
    put.add_argument("files", nargs="+", type=Path, help="files or folders of personas")
    put.add_argument("--expect", type=int, help="only if this is the newest version now; 0 for none")
    commands.add_parser("list", help="all personas")
    for name in ("get", "remove"):
        commands.add_parser(name, help=f"{name} one persona").add_argument("id")
    check = commands.add_parser("check", help="say whether files are right")
    check.add_argument("files", nargs="+", type=Path, help="files or folders of personas")
    commands.add_parser("schema", help="the JSON Schema of a persona")
    return parser


if __name__ == "__main__":
    sys.exit(main())
