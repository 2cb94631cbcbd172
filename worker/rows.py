"""`python -m worker.rows REF`: a stored message whole, where a history has only its beginning.

REF is what `textRef` of an output or `argumentsRef` of a pending call says: the turn's key, a slash, the number of the row.
"""

import argparse
import json
import sys
from typing import Any

from activities.conversation import AssistantMessage, Message, ToolMessage, UserMessage
from activities.store.database import open_database
from activities.store.errors import StoreError
from activities.store.turn_store import TurnStore
from activities.texts import text_of
from worker.settings import SettingsInvalid, load_settings


def main() -> int:
    """Print the row: text as it is, calls and results as JSON. The exit code is 1 when there is no such row."""
    parser = argparse.ArgumentParser(prog="python -m worker.rows", description=__doc__)
    parser.add_argument("ref", help="turn key/row, such as my-conversation/my-turn/3")
    try:
        message = read_row(parser.parse_args().ref)
    except (LookupError, ValueError, StoreError, SettingsInvalid) as fault:
        print(f"no row: {fault}", file=sys.stderr)
        return 1
    print(message if isinstance(message, str) else json.dumps(message, ensure_ascii=False, indent=2))
    return 0


def read_row(ref: str) -> Any:
    """The message at a reference.

    Raises:
        ValueError: not a reference.
        LookupError: no such turn or row.
    """
    key, _, number = ref.rpartition("/")
    if not key or not number.isdigit():
        raise ValueError(f"{ref!r} is not a turn's key, a slash and a number")
    database = open_database(load_settings().database_url)
    try:
        rows = dict(TurnStore(database).rows(key, int(number) + 1))
    finally:
        database.close()
    if int(number) not in rows:
        raise LookupError(f"turn {key!r} has no row {number} in this database")
    return _shown(rows[int(number)])


def _shown(message: Message) -> Any:
    match message:
        case UserMessage():
            return text_of(message.content)
        case ToolMessage():
            return message.result.output
        case AssistantMessage() if message.tool_calls:
            calls = [call.model_dump(by_alias=True, exclude_none=True) for call in message.tool_calls]
            return {"content": message.content, "toolCalls": calls}
    return message.content


if __name__ == "__main__":
    sys.exit(main())
