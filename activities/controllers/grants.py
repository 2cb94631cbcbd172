"""What the entries of a persona's `tool_ids` stand for: a tool, one function of a controller, or a whole controller."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from activities.tool import Tool

_ALL = ".*"


class Grants:
    """Reads `lookup_order`, `files.upload`, `files` and `files.*`. A tool's own name comes before a controller's."""

    def __init__(self, tools: Iterable[Tool], aliases: Mapping[str, str], controllers: Iterable[str]) -> None:
        self._granted: dict[str, set[str]] = defaultdict(set)
        tools = list(tools)
        for controller in controllers:
            self._granted[controller] = set()
            self._granted[f"{controller}{_ALL}"] = set()
        for each in tools:
            if each.facts is not None:
                controller = each.facts.controller
                for entry in (controller, f"{controller}{_ALL}", f"{controller}.{each.facts.function}"):
                    self._granted[entry].add(each.name)
        self._granted.update({alias: {name} for alias, name in aliases.items()})
        self._granted.update({each.name: {each.name} for each in tools})

    def knows(self, entry: str) -> bool:
        """Whether the entry stands for anything."""
        return entry in self._granted

    def names(self, entries: Iterable[str]) -> frozenset[str]:
        """The names of all tools that the entries grant."""
        return frozenset(name for entry in entries for name in self._granted.get(entry, ()))
