"""Threads that are bounded, and that a process does not wait for."""

import contextvars
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from activities.daemon_threads import DaemonThreads

ROOT = Path(__file__).parents[2]


def test_no_more_than_the_limit_runs_at_once() -> None:
    threads = DaemonThreads("t", 2)
    both, release = threading.Barrier(3), threading.Event()

    def hold() -> str:
        both.wait(5)
        release.wait(5)
        return threading.current_thread().name

    held = [threads.submit(hold) for _ in range(2)]
    both.wait(5)
    third = threads.submit(threading.active_count)
    assert not third.running()
    assert third.cancel()
    release.set()
    assert [future.result(5) for future in held] == ["t", "t"]


def test_work_waits_its_turn_and_then_runs() -> None:
    threads = DaemonThreads("t", 1)
    order: list[int] = []
    futures = [threads.submit(order.append, n) for n in range(50)]
    for future in futures:
        future.result(5)
    assert order == list(range(50))


def test_exception_is_the_result_and_the_thread_goes_on() -> None:
    threads = DaemonThreads("t", 1)
    with pytest.raises(ZeroDivisionError):
        threads.submit(lambda: 1 // 0).result(5)
    with pytest.raises(SystemExit):
        threads.submit(sys.exit).result(5)
    assert threads.submit(len, "abc").result(5) == 3


def test_context_variables_of_the_caller_are_seen() -> None:
    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("set")
    assert DaemonThreads("t", 1).submit(variable.get).result(5) == "set"


def test_process_ends_while_a_thread_hangs() -> None:
    code = (
        "import threading\n"
        "from activities.daemon_threads import DaemonThreads\n"
        "DaemonThreads('t', 1).submit(threading.Event().wait)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=20).returncode == 0


def test_limit_must_leave_room_for_one() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        DaemonThreads("t", 0)
