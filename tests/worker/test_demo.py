"""`make demo` keeps its promises: the pause, the fill, the memory, exit code 0, nothing left running."""

import asyncio
import os
import re
import shutil
import signal
import socket
import sys
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "TURNHOLD_", "TEMPORAL_"))
}


async def demo(*arguments: str) -> tuple[int, str]:
    """Run the demo; its exit code and what it printed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "worker.demo", *arguments),
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await asyncio.wait_for(process.communicate(), 120)
    return process.returncode or 0, out.decode()


def running_in(folder: str) -> list[psutil.Process]:
    """Processes that name a folder in their command line or environment."""
    processes = psutil.process_iter(["cmdline"])
    return [process for process in processes if any(folder in part for part in process.info["cmdline"] or ())]


async def test_it_plays_to_the_end_also_when_the_usual_ports_are_taken() -> None:
    """It prints each command, the pause, the fill and what memory recalled, and leaves nothing running."""
    taken = [socket.socket() for _ in range(2)]
    for place, port in zip(taken, (7233, 8233), strict=True):
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            place.bind(("127.0.0.1", port))
            place.listen()
        except OSError:
            # Somebody else has it, which serves as well.
            continue
    try:
        code, out = await demo()
    finally:
        for place in taken:
            place.close()

    assert code == 0, out
    folder = re.search(r"log (\S+)/worker\.log", out)
    assert folder is not None
    assert out.index("$ temporal workflow start") < out.index("Waiting for 2 of 2 calls")
    assert out.index("$ temporal workflow signal") < out.index("EXTERNAL_TOOL_NOT_RUN")
    assert "was approved" in out
    assert "I prefer e-mail to phone calls" in out.rsplit("The agent says", 1)[-1]
    assert not Path(folder[1]).exists()
    assert running_in(folder[1]) == []


async def test_it_can_be_left_at_the_pause() -> None:
    """With --keep the server and the worker outlive the demo until they are ended by the command it prints."""
    code, out = await demo("--keep")
    assert code == 0, out
    ending = re.search(r"kill (\d+) (\d+); rm -r (\S+)", out)
    assert ending is not None
    processes = [psutil.Process(int(number)) for number in ending.groups()[:2]]
    try:
        assert all(process.is_running() for process in processes)
        assert "Waiting for 2 of 2 calls" in out
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        psutil.wait_procs(processes, timeout=20)
        shutil.rmtree(ending[3])
