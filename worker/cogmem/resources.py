"""The calls by resource. One class serves both clients: a call on `Cogmem` returns its result, on `AsyncCogmem` it is awaited."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Generic, ParamSpec, TypeVar, overload

from worker.cogmem import calls
from worker.cogmem.call import Call
from worker.cogmem.transport import AsyncHttpClient, HttpClient

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound=HttpClient | AsyncHttpClient, covariant=True)


class Resource(Generic[C]):
    """Calls that belong together, on one client."""

    def __init__(self, http: C) -> None:
        self._http = http

    @property
    def http(self) -> C:
        """What carries the calls out."""
        return self._http


class Operation(Generic[P, T]):
    """A call as a method of a resource."""

    def __init__(self, describe: Callable[P, Call[T]]) -> None:
        self.__doc__ = describe.__doc__
        self._describe = describe

    @overload
    def __get__(self, resource: None, owner: type[Any]) -> Operation[P, T]: ...
    @overload
    def __get__(self, resource: Resource[HttpClient], owner: type[Any]) -> Callable[P, T]: ...
    @overload
    def __get__(self, resource: Resource[AsyncHttpClient], owner: type[Any]) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, resource: Any, owner: type[Any]) -> Any:
        if resource is None:
            return self

        @functools.wraps(self._describe)
        def call(*args: P.args, **kwargs: P.kwargs) -> Any:
            return resource.http.send(self._describe(*args, **kwargs))

        return call


class MemoriesResource(Resource[C]):
    """What is stored."""

    list = Operation(calls.list_memories)
    get = Operation(calls.get_memory)
    create = Operation(calls.create_memories)
    promote = Operation(calls.promote_memory)
    remove = Operation(calls.remove_memory)


class ContextResource(Resource[C]):
    """The prompt block."""

    build = Operation(calls.build_context)


class RecallResource(Resource[C]):
    """Ranked lookup, the same whatever model is in use."""

    search = Operation(calls.search)


class TurnsResource(Resource[C]):
    """Learning from finished exchanges."""

    learn = Operation(calls.learn)


class TensionsResource(Resource[C]):
    """Claims that contradict each other."""

    list = Operation(calls.list_tensions)
    create = Operation(calls.create_tension)
    resolve = Operation(calls.resolve_tension)


class SelfModelResource(Resource[C]):
    """How well the agent does, domain by domain."""

    get = Operation(calls.get_self_model)
    record = Operation(calls.record_outcome)


class StatsResource(Resource[C]):
    """What the memory holds."""

    get = Operation(calls.get_stats)
