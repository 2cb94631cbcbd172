"""The operations of a document as they stand in it, before anything in them is looked at."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from activities.openapi.names import Named
from activities.openapi.operation import DocumentInvalid
from activities.openapi.reading import Unfit, as_object, text_at, texts_at
from activities.openapi.references import Source

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
MAX_OPERATIONS = 5_000
MAX_PATH_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Listed:
    """One method of one path: the raw operation and the raw path, each with its source. `fault` says why it has neither."""

    method: str
    path: str
    node: dict[str, Any]
    source: Source
    item: dict[str, Any] = field(default_factory=dict)
    item_source: Source | None = None
    fault: str | None = None

    @property
    def named(self) -> Named:
        """What its name is made from."""
        accessor = texts_at(self.node, "x-samchon-accessor")
        return Named(self.method, self.path, text_at(self.node, "operationId") or None, accessor or None)

    def refuse_unsendable(self) -> None:
        """Raise `Unfit` for what is never a function, whatever the rest of it says."""
        if self.fault:
            raise Unfit(self.fault)
        if not self.path.startswith("/"):
            raise Unfit("its path does not begin with a slash")
        if "#" in self.path or "{" in self.path.partition("?")[2]:
            raise Unfit("its path has a fragment, or a placeholder in a query")
        if len(self.path) > MAX_PATH_CHARS:
            raise Unfit(f"its path has {len(self.path):,} characters; at most {MAX_PATH_CHARS:,} are taken")
        if "{}" in self.path:
            raise Unfit("its path has a placeholder without a name")
        if self.path.count("{") != self.path.count("}"):
            raise Unfit("its path has a brace that is not closed")
        if self.method == "trace":
            raise Unfit("TRACE would send its own credentials back")
        if self.node.get("x-samchon-human") is True:
            raise Unfit("the document keeps it for people (`x-samchon-human`)")


def listed(document: dict[str, Any], main: Source) -> list[Listed]:
    """Each method of each path. `paths` alone: webhooks and callbacks are calls of the server to others.

    Raises:
        DocumentInvalid: there are more than `MAX_OPERATIONS`.
    """
    found: list[Listed] = []
    for path, node in as_object(document.get("paths"), "`paths`").items():
        if not path.startswith("x-"):
            found += _of_path(path, node, main)
        if len(found) > MAX_OPERATIONS:
            raise DocumentInvalid(f"the document has more than {MAX_OPERATIONS:,} operations")
    return found


def _of_path(path: str, node: Any, main: Source) -> Iterator[Listed]:
    own = node if isinstance(node, dict) else {}
    try:
        item, source = main.resolved(node, "the path")
    except Unfit as fault:
        for method in [method for method in METHODS if method in own] or ["*"]:
            yield Listed(method, path, {}, main, fault=str(fault))
        return
    # What stands beside the reference of a path counts as well, and before what the reference leads to.
    both = {**item, **own}
    for method in METHODS:
        if method in both:
            place = main if method in own else source
            if isinstance(both[method], dict):
                yield Listed(method, path, both[method], place, item, source)
            else:
                yield Listed(method, path, {}, place, fault="it is not an object")
