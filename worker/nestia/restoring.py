"""Histories that an agent begins with: read, and brought to the names that functions have today."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from activities.json_values import clean_json
from activities.store.nestia_histories import import_histories
from worker.nestia.prompts import Operation, Prompt, shown_headers

# The operation of a controller and a function today, or None when it is gone.
Find = Callable[[str, str], Operation | None]


def read_histories(histories: Sequence[dict[str, Any]]) -> list[Prompt]:
    """Clean copies of the entries, without cookies.

    Raises:
        ValueError: an entry is malformed; the message names its index and field.
    """
    import_histories(histories, "check")
    clean: list[Prompt] = clean_json(list(histories))
    for execution in _executions(clean):
        value = execution.get("value")
        if execution.get("protocol") == "http" and isinstance(value, dict) and isinstance(value.get("headers"), dict):
            execution["value"] = {**value, "headers": shown_headers(value["headers"])}
    return clean


def renamed(histories: Iterable[Prompt], find: Find) -> list[Prompt]:
    """The entries with each function under the name the model knows it by now; those that are gone keep theirs."""
    copies = [_copy(entry) for entry in histories]
    for operation in _operations(copies):
        if found := _found(operation, find):
            operation["name"] = found.name
    return copies


def unavailable(histories: Iterable[Prompt], find: Find) -> tuple[tuple[str, str], ...]:
    """Controller and function of everything in the entries that is gone, each once."""
    gone = [_key(each) for each in _operations(list(histories)) if _found(each, find) is None]
    return tuple(dict.fromkeys(gone))


def _found(operation: dict[str, Any], find: Find) -> Operation | None:
    return find(*_key(operation))


def _key(operation: dict[str, Any]) -> tuple[str, str]:
    return str(operation.get("controller", "")), str(operation.get("function", ""))


def _operations(histories: Iterable[Prompt]) -> Iterator[dict[str, Any]]:
    """Everything in the entries that names a function."""
    for entry in histories:
        listed = entry.get("operations")
        if entry.get("type") in ("select", "cancel") and isinstance(listed, list):
            yield from (each for each in listed if isinstance(each, dict))
    yield from _executions(histories)


def _executions(histories: Iterable[Prompt]) -> Iterator[dict[str, Any]]:
    for entry in histories:
        described = entry.get("executions")
        if entry.get("type") == "execute":
            yield entry
        elif entry.get("type") == "describe" and isinstance(described, list):
            yield from (each for each in described if isinstance(each, dict))


def _copy(entry: Prompt) -> Prompt:
    """A copy whose parts that name functions may be written to."""
    nested = {
        name: [dict(each) if isinstance(each, dict) else each for each in listed]
        for name in ("operations", "executions")
        if isinstance(listed := entry.get(name), list)
    }
    return {**entry, **nested}
