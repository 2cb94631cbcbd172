"""The text of a tool message: what the model reads of a result.

A string is sent as it is. Other output is JSON with readable letters. An error names the tool and gives its details as JSON,
then its output where that says more. Nothing at all has a fixed text, since some providers refuse an empty message.
"""

import json
from typing import Any

from activities.conversation import ToolCallResult
from activities.json_values import clean_json, clean_text

NO_OUTPUT = "(no output)"
EMPTY_OUTPUT = "(empty output)"


def tool_text(result: ToolCallResult) -> str:
    """What the model reads of a result; never empty."""
    if not result.is_error:
        return _plain(result.output)
    failed = f"Tool {clean_text(result.tool_name)} failed"
    if result.error_details is None:
        return f"{failed}: {_plain(result.output)}"
    told = f"{failed}: {_plain(result.error_details)}"
    return f"{told}\nOutput: {_plain(result.output)}" if _says_more(result) else told


def _says_more(result: ToolCallResult) -> bool:
    """Whether the output has anything that the details do not say."""
    output, details = result.output, result.error_details
    if output is None or output == details:
        return False
    return not (isinstance(output, dict) and isinstance(details, dict) and output.items() <= details.items())


def _plain(value: Any) -> str:
    if value is None:
        return NO_OUTPUT
    if isinstance(value, str):
        return clean_text(value) if value.strip() else EMPTY_OUTPUT
    return json.dumps(clean_json(value), ensure_ascii=False, allow_nan=False)
