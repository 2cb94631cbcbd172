"""`python -m worker.histories FILE`: keep a large history in the worker's database and print the `historyRef` for a turn."""

import argparse
import json
import sys
import time
from pathlib import Path

from activities.store.database import open_database
from activities.store.errors import StoreError
from activities.store.histories import HistoryStore
from worker.settings import SettingsInvalid, load_settings


def main() -> int:
    """Print the name of the kept history; the exit code is 1 when there is nothing to keep."""
    parser = argparse.ArgumentParser(prog="python -m worker.histories", description=__doc__)
    parser.add_argument("file", type=Path, help="a JSON list of history entries")
    parser.add_argument("--user", default="local", help="the user whose turn may name it")
    parser.add_argument("--organization", default=None)
    given = parser.parse_args()
    try:
        history = json.loads(given.file.read_text("utf-8"))
        if not isinstance(history, list):
            raise ValueError("the file is not a JSON list")
        database = open_database(load_settings().database_url)
        ref = HistoryStore(database).put(history, given.organization, given.user, int(time.time() * 1000))
        database.close()
    except (OSError, ValueError, StoreError, SettingsInvalid) as fault:
        print(f"nothing was kept: {fault}", file=sys.stderr)
        return 1
    print(ref)
    return 0


if __name__ == "__main__":
    sys.exit(main())
