"""The project's own commands: as the processes they are, or called within the test, without the seconds of their imports."""

import asyncio
import contextlib
import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended: its exit code, what it printed, what it complained of."""

    code: int
    out: bytes
    err: str

    @property
    def told(self) -> tuple[int, str, str]:
        """Exit code and both texts."""
        return self.code, self.out.decode(), self.err


async def run_module(module: str, *arguments: str, **environment: str) -> Ran:
    """`python -m module`."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, *arguments),
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert b"Traceback" not in err
    return Ran(process.returncode or 0, out, err.decode())


async def run_main(main: Callable[[], int], *arguments: str, **environment: str) -> Ran:
    """What `python -m` would do with this `main`. An exception that it lets through fails the test."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with (
        patch.object(sys, "argv", ["command", *arguments]),
        patch.dict(os.environ, environment),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = await asyncio.to_thread(_exit_code, main)
    out.flush()
    assert isinstance(out.buffer, io.BytesIO)
    return Ran(code, out.buffer.getvalue(), err.getvalue())


def _exit_code(main: Callable[[], int]) -> int:
    try:
        return main()
    except SystemExit as left:  # argparse, at a wrong command line
        return left.code if isinstance(left.code, int) else 1
