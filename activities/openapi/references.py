"""Following `$ref`: inside the document always, to other documents only with a function of the caller that fetches them."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urldefrag, urljoin

from referencing import Registry, Resource
from referencing.exceptions import Unresolvable

from activities.openapi.document import load_document
from activities.openapi.operation import DocumentInvalid
from activities.openapi.reading import Unfit, as_object

MAX_DOCUMENTS = 50
MAX_CHAIN = 50
SHOWN_CHARS = 200

Fetch = Callable[[str], bytes]


class Source:
    """The document a part was read from: where its references start. `base` is that document's address, "" if unknown."""

    __slots__ = ("_library", "base")

    def __init__(self, library: "Library", base: str) -> None:
        self._library = library
        self.base = base

    def look_up(self, reference: str) -> tuple[Any, "Source"]:
        """What a reference points to, and the source of it.

        Raises:
            Unfit: it points to nothing, or to another document that may not be or could not be fetched.
        """
        return self._library.look_up(self.base, reference)

    def resolved(self, node: Any, what: str) -> tuple[dict[str, Any], "Source"]:
        """An object of the document (not a schema) with its reference, if it is one, followed to the end.

        Raises:
            Unfit: not an object, or its references lead nowhere or in a circle.
        """
        source = self
        for _ in range(MAX_CHAIN):
            found = as_object(node, what)
            reference = found.get("$ref")
            if not isinstance(reference, str):
                return found, source
            node, source = source.look_up(reference)
        raise Unfit(f"{what} is a reference that leads in a circle")


class Library:
    """All documents a conversion reads. Each lookup is done once."""

    def __init__(self, document: dict[str, Any], url: str | None, external: Fetch | None) -> None:
        base = urldefrag(url or "").url
        self._external = external
        self._fetched: dict[str, Resource[Any]] = {}
        # Opaque: `$id` in a schema does not move the base, so references keep meaning what OpenAPI says.
        self._registry: Registry[Any] = Registry(retrieve=self._fetch).with_resource(base, Resource.opaque(document))  # type: ignore[call-arg]
        self._sources = {base: Source(self, base)}
        self._found: dict[tuple[str, str], tuple[Any, Source]] = {}
        self.main = self._sources[base]

    def look_up(self, base: str, reference: str) -> tuple[Any, Source]:
        key = (base, reference)
        if key not in self._found:
            self._found[key] = self._resolve(base, reference)
        return self._found[key]

    def _resolve(self, base: str, reference: str) -> tuple[Any, Source]:
        shown = reference[:SHOWN_CHARS]
        try:
            found = self._registry.resolver(base_uri=base).lookup(reference)
        except Unresolvable as fault:
            cause: BaseException | None = fault
            while cause is not None and not isinstance(cause, Unfit):
                cause = cause.__cause__
            raise Unfit(str(cause) if cause else f"it refers to {shown}, which is not there") from None
        except (LookupError, TypeError, ValueError, AttributeError):
            raise Unfit(f"it refers to {shown}, which is not there") from None
        if not reference.startswith("#"):
            base = urldefrag(urljoin(base, reference)).url
        return found.contents, self._sources.setdefault(base, Source(self, base))

    def _fetch(self, address: str) -> Resource[Any]:
        if address in self._fetched:
            return self._fetched[address]
        shown = address[:SHOWN_CHARS]
        if self._external is None:
            raise Unfit(f"it refers to {shown}, and references to other documents are not followed")
        if len(self._fetched) >= MAX_DOCUMENTS:
            raise Unfit(f"it refers to {shown}, and at most {MAX_DOCUMENTS} other documents are read")
        try:
            content = load_document(self._external(address))
        except (DocumentInvalid, OSError, ValueError, LookupError) as fault:
            raise Unfit(f"it refers to {shown}, which cannot be read: {str(fault)[:SHOWN_CHARS]}") from None
        resource = Resource.opaque(content)
        self._fetched[address] = resource
        return resource
