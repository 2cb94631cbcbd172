"""The real `temporal` command against the session's server."""

import asyncio
import json
import os
from dataclasses import dataclass
from typing import Any

from worker.dev_server import DevServer, temporal_cli


@dataclass(frozen=True, slots=True)
class Ran:
    """A finished command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, as JSON."""
        return json.loads(self.out)


async def run_cli(server: DevServer, *arguments: str, timeout: float = 60.0) -> Ran:
    """Run `temporal` with these arguments."""
    process = await asyncio.create_subprocess_exec(
        temporal_cli(),
        *arguments,
        env={**os.environ, "TEMPORAL_ADDRESS": server.address},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), timeout)
    return Ran(process.returncode or 0, out.decode(), err.decode())
