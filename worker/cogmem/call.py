"""What one call is: where it goes, what it carries, and how its answer is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, TypeAdapter

from memory_engine import plain

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

Method = Literal["GET", "POST", "PATCH", "DELETE"]
Query = Mapping[str, str | int]
BASE_PATH = "/api/v1"


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One logical call. `read` turns the decoded answer into its type and raises `ValueError` for anything else.

    `repeatable` says that sending it twice, under one idempotency key where it writes, does no more than sending it once.
    """

    method: Method
    path: str
    read: Callable[[Any], T]
    query: Query = field(default_factory=dict)
    body: Any = None
    needs_key: bool = True
    repeatable: bool = True


def reader(answer: type[T], within: str | None = None) -> Callable[[Any], T]:
    """Reads an answer, or the member of it that the caller asked for."""
    adapter = TypeAdapter(answer)

    def read(decoded: Any) -> T:
        if within is None:
            return adapter.validate_python(decoded)
        if not isinstance(decoded, dict) or within not in decoded:
            raise ValueError(f"the answer has no {within}")
        return adapter.validate_python(decoded[within])

    return read


def request_of(model: type[M], first: str, given: Any, **others: Any) -> M:
    """The request: as it was given, whole or as a mapping, or made of its `first` field and `others`, None left out.

    Raises:
        ValueError: a field has the wrong type.
        TypeError: a whole request and single fields were given.
    """
    named = {name: value for name, value in others.items() if value is not None}
    if isinstance(given, model | Mapping):
        if named:
            raise TypeError(f"{', '.join(named)} must stand inside the whole {model.__name__} that was given")
        return given if isinstance(given, model) else model.model_validate(dict(given))
    return model.model_validate(named if given is None else {first: given, **named})


def post(path: str, request: BaseModel, read: Callable[[Any], T]) -> Call[T]:
    """A call that carries a request."""
    return Call("POST", path, read, body=plain(request))


def segment(identifier: str) -> str:
    """An id as one segment of a path.

    Raises:
        ValueError: it is blank, or one that path rules would resolve to another resource.
    """
    if not identifier.strip() or identifier in (".", ".."):
        raise ValueError(f"an id must be text other than blanks and dots, got {identifier!r}")
    return quote(identifier, safe="")
