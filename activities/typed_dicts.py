"""`typing.TypedDict` for pydantic, which before Python 3.12 reads only that of `typing_extensions`.

Nothing else differs between the two, so an author should not have to know.
"""

import sys
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, Literal, NotRequired, Required, get_args, get_origin

import typing_extensions

_OPAQUE = (Literal, Callable)


def readable(hint: Any) -> Any:
    """The annotation with each TypedDict in it as one that pydantic reads, nested ones and those that contain themselves too."""
    return hint if sys.version_info >= (3, 12) else _Reading().of(hint)


class _Reading:
    def __init__(self) -> None:
        self._made: dict[Any, Any] = {}

    def of(self, hint: Any) -> Any:
        if typing.is_typeddict(hint):
            return self._dictionary(hint) if type(hint).__module__ == "typing" else hint
        arguments, origin = get_args(hint), get_origin(hint)
        if origin in _OPAQUE:
            return hint
        if origin is Annotated:
            inner = self.of(arguments[0])
            return hint if inner is arguments[0] else Annotated[(inner, *arguments[1:])]
        made = tuple(self.of(each) for each in arguments)
        if all(new is old for new, old in zip(made, arguments, strict=True)):
            return hint
        if origin in (typing.Union, types.UnionType):
            return typing.Union[made]  # noqa: UP007 - the members are known only now
        return hint.copy_with(made) if hasattr(hint, "copy_with") else origin[made]

    def _dictionary(self, given: Any) -> Any:
        if given not in self._made:
            made: Any = typing_extensions.TypedDict(given.__name__, {})  # type: ignore[misc]
            # Known before its fields are read, because they may lead back here.
            self._made[given] = made
            fields = typing.get_type_hints(given, include_extras=True)
            made.__annotations__ = {name: self.of(hint) for name, hint in fields.items()}
            made.__required_keys__ = frozenset(name for name, hint in fields.items() if _is_required(given, name, hint))
            made.__optional_keys__ = frozenset(fields) - made.__required_keys__
            made.__doc__ = given.__doc__
        return self._made[given]


def _is_required(given: Any, name: str, hint: Any) -> bool:
    """What the resolved annotation says counts: a class whose annotations are text does not know it of itself."""
    said = get_origin(hint)
    return name in given.__required_keys__ if said not in (Required, NotRequired) else said is Required
