"""`post_turn` with callbacks: the steps of `PostTurn`, each asked of a function that may be sync or async, fail or hang."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from threading import Thread

from .asks import Arbitrate, Ask, Extract, Reconcile
from .options import CognitiveMemoryOptions
from .post_turn import PostTurn
from .reports import PostTurnResult
from .snapshot import CognitiveMemoryStateSnapshot


async def learn_with_callbacks(
    asking: PostTurn, options: CognitiveMemoryOptions, snapshot: Callable[[], CognitiveMemoryStateSnapshot]
) -> PostTurnResult:
    """Asks, learns, persists. A callback that raises or takes too long costs its own step only, and is named in `errors`."""
    while (ask := asking.ask) is not None:
        try:
            answer = await _within(options.callback_timeout_s, _callback(options, ask), _argument(ask))
        except Exception as failure:
            asking.fail(_told(failure, options.callback_timeout_s))
        else:
            asking.answer(answer)
    result = asking.finish()
    if options.on_persist is not None:
        try:
            await _within(options.callback_timeout_s, options.on_persist, snapshot())
        except Exception as failure:
            told = _told(failure, options.callback_timeout_s)
            return result.model_copy(update={"errors": [*result.errors, f"persist: learned but not persisted: {told}"]})
    return result


def _callback(options: CognitiveMemoryOptions, ask: Ask) -> Callable[..., object]:
    callbacks = {"extract": options.extract, "reconcile": options.reconcile, "arbitrate": options.arbiter}
    callback = callbacks[ask.kind]
    if callback is None:
        raise LookupError(f"nobody to ask: {ask.kind}")
    return callback


def _argument(ask: Ask) -> object:
    match ask:
        case Extract():
            return ask
        case Reconcile() | Arbitrate():
            return ask.input


async def _within(seconds: float, callback: Callable[..., object], argument: object) -> object:
    async with asyncio.timeout(seconds):
        if inspect.iscoroutinefunction(callback) or inspect.iscoroutinefunction(type(callback).__call__):
            answer = callback(argument)
        else:
            answer = await _in_thread(callback, argument)
        return await answer if inspect.isawaitable(answer) else answer


async def _in_thread(callback: Callable[..., object], argument: object) -> object:
    # A thread cannot be stopped. One of our own may at least be left behind; the loop waits for those of its pool at its end.
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[object] = loop.create_future()

    def deliver(settle: Callable[..., None], value: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any longer
            loop.call_soon_threadsafe(lambda: None if outcome.done() else settle(value))

    def run() -> None:
        try:
            answer = callback(argument)
        except Exception as failure:
            is_refused = isinstance(failure, StopIteration)  # a future does not take it
            deliver(outcome.set_exception, RuntimeError(repr(failure)) if is_refused else failure)
        else:
            deliver(outcome.set_result, answer)

    Thread(target=copy_context().run, args=(run,), daemon=True).start()
    return await outcome


def _told(failure: Exception, seconds: float) -> str:
    if isinstance(failure, TimeoutError) and not str(failure):
        return f"no answer within {seconds:g} s"
    return f"{type(failure).__name__}: {failure}"
