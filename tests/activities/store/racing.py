"""Real processes that start the same thing at the same moment."""

import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[3]
_SECONDS = 60


def race(preparation: str, action: str, arguments: list[list[str]]) -> list[str]:
    """Run `preparation` in one process for each list of arguments, then `action` in all at once.

    Both are Python source that finds its arguments in `sys.argv[1:]`. Returns what each printed; a process that fails
    fails the test with its traceback.
    """
    source = f"import sys\n{preparation}\nprint('ready', flush=True)\nsys.stdin.readline()\n{action}\n"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", source, *each],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for each in arguments
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n", process.stderr and process.stderr.read()
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        ended = [process.communicate(timeout=_SECONDS) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    for process, (_, errors) in zip(processes, ended, strict=True):
        assert process.returncode == 0, errors
    return [output.strip() for output, _ in ended]
