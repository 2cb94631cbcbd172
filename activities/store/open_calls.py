"""Calls without a result, and the result that says so. Call `i` of the assistant at row `a` has its result at `a + 1 + i`."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from activities.conversation import AssistantMessage, ToolCall, ToolCallResult
from activities.errors import EXTERNAL_TOOL_NOT_RUN


def open_calls(
    assistants: Mapping[int, AssistantMessage], tool_rows: Collection[int]
) -> Iterator[tuple[int, ToolCall]]:
    """Each call that has no result, with the row where the result belongs, in the order of the rows."""
    for row, assistant in sorted(assistants.items(), key=lambda item: item[0]):
        for place, call in enumerate(assistant.tool_calls, start=row + 1):
            if place not in tool_rows:
                yield place, call


def not_run(calls: Iterable[tuple[int, ToolCall]], reason: str) -> list[tuple[int, ToolCallResult]]:
    """For each call the result that tells the model it was not run, and why."""
    said = {"code": EXTERNAL_TOOL_NOT_RUN, "message": reason}
    return [
        (
            row,
            ToolCallResult(tool_call_id=call.id, tool_name=call.name, output=said, is_error=True, error_details=said),
        )
        for row, call in calls
    ]
