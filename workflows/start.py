"""Reading what started a turn. Pure: a TurnInput, or a refusal that names the field."""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from activities.conversation import ErrorDetails
from activities.durations import parse_duration
from activities.errors import SYS_VALIDATION_ERROR
from activities.json_schema import broken_schema
from activities.json_values import Undecodable, encoded_size, json_fault, json_type
from activities.structured_contracts import MAX_SCHEMA_BYTES
from activities.turn_input import TurnInput, TurnOptions

MESSAGE_CHARS = 2_000
# Answers are checked by a tool's schema within a workflow task, for each of its calls.
SCHEMA_BYTES = 100_000


def read_turn_input(arguments: Sequence[Any]) -> TurnInput | ErrorDetails:
    """The turn's input from the workflow's arguments: one object, or one string that is its content."""
    if len(arguments) != 1:
        return _invalid(f'a turn takes exactly one argument, {len(arguments)} came; send {{"content": …}}')
    raw = arguments[0]
    if isinstance(raw, Undecodable):
        return _invalid(f"input: {raw.reason}")
    if isinstance(raw, str):
        raw = {"content": raw}
    if not isinstance(raw, dict):
        return _invalid(f"the input is a {json_type(raw)}, not an object with `content` or a text")
    if fault := json_fault(raw, "input"):
        return _invalid(fault)
    if raw.get("type") == "tool_response":
        return _invalid("type: a tool_response starts no turn; send the result to the pause with handle_tool_results")
    try:
        given = TurnInput.model_validate(raw)
    except ValidationError as invalid:
        return _invalid(_name_fields(invalid))
    wrong = _fault_of(given)
    return _invalid(wrong) if wrong else given


def _fault_of(given: TurnInput) -> str | None:
    """What the shape alone cannot say."""
    if not given.content or (isinstance(given.content, str) and not given.content.strip()):
        return "content: must not be empty"
    if given.limits.deadline is not None and given.limits.deadline.tzinfo is None:
        return "limits.deadline: needs a time zone, such as 2030-01-31T12:00:00Z"
    if given.histories is not None and given.history_ref is not None:
        return "historyRef: stands for `histories`, so only one of them may be given"
    for field, text in _durations(given):
        try:
            parse_duration(text)
        except ValueError as fault:
            return f"{field}: {fault}"
    if wrong := _structured_fault(given.options):
        return wrong
    names = [tool.name for tool in given.external_tools]
    if twice := next((name for name in names if names.count(name) > 1), None):
        return f"externalTools: {twice} stands twice"
    for index, tool in enumerate(given.external_tools):
        for field, schema in (("inputSchema", tool.input_schema), ("outputSchema", tool.output_schema)):
            if schema is None:
                continue
            if (size := encoded_size(schema)) > SCHEMA_BYTES:
                return f"externalTools[{index}].{field}: has {size:,} bytes, more than {SCHEMA_BYTES:,}"
            if broken := broken_schema(schema):
                return f"externalTools[{index}].{field}: {broken}"
    if "userApiKeys" in given.metadata:
        return (
            "metadata.userApiKeys: keys never travel with a turn; options.userApiKeys has names of the worker's secrets"
        )
    return None


def _structured_fault(options: TurnOptions) -> str | None:
    wanted = options.structured_reply
    if wanted is None:
        return None
    if options.response_format is not None:
        return "options.responseFormat: options.structuredReply says it already, so only one of them may be given"
    if (size := encoded_size(wanted.json_schema)) > MAX_SCHEMA_BYTES:
        return f"options.structuredReply.schema: has {size:,} bytes, more than {MAX_SCHEMA_BYTES:,}"
    broken = broken_schema(wanted.json_schema)
    return f"options.structuredReply.schema: {broken}" if broken else None


def _durations(given: TurnInput) -> list[tuple[str, str]]:
    calls = [
        (f"externalTools[{index}].timeout", tool.timeout)
        for index, tool in enumerate(given.external_tools)
        if tool.timeout is not None
    ]
    return [("pause.timeout", given.pause.timeout), *calls]


def _name_fields(fault: ValidationError) -> str:
    """Each field and what is wrong with it. Values are left out: they may be secrets."""
    wrong = []
    for error in fault.errors(include_input=False, include_url=False, include_context=False)[:10]:
        where = ".".join(str(part) for part in error["loc"]) or "input"
        known = "is not a field of a turn's input" if error["type"] == "extra_forbidden" else error["msg"]
        wrong.append(f"{where}: {known}")
    return "; ".join(wrong)


def _invalid(message: str) -> ErrorDetails:
    # Field names are the sender's: a failure that repeats a huge one whole could not be reported.
    return ErrorDetails(code=SYS_VALIDATION_ERROR, message=message[:MESSAGE_CHARS])
