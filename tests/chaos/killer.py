"""The kills of a run: what is killed, at which moment, and how long after it."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from tests.chaos.moments import MOMENTS, Moment, Moments
from tests.chaos.victims import Server, Worker

# After a kill a step is noticed as lost in 10 to 19 s. With nothing to wait for after twice that, the kill comes anyway.
PATIENCE = 40.0
LATEST = 0.08


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill: `delay` seconds after the next `moment`."""

    victim: Literal["worker", "server"]
    moment: Moment
    delay: float


@dataclass(slots=True)
class Kills:
    """When workers and servers were killed, by the loop's clock, and at which moments."""

    worker: list[float] = field(default_factory=list)
    server: list[float] = field(default_factory=list)
    moments: list[str] = field(default_factory=list)


def make_kills(chance: random.Random, workers: int, servers: int) -> list[Kill]:
    """Every moment gets its share of the worker's kills; what comes when is chance."""
    moments = [MOMENTS[number % len(MOMENTS)] for number in range(workers)]
    kills = [Kill("worker", moment, round(chance.uniform(0, LATEST), 3)) for moment in moments]
    kills += [Kill("server", chance.choice(MOMENTS), round(chance.uniform(0, LATEST), 3)) for _ in range(servers)]
    chance.shuffle(kills)
    return kills


async def carry_out(kills: Sequence[Kill], moments: Moments, worker: Worker, server: Server) -> Kills:
    """Kill and revive, one after the other."""
    done, loop = Kills(), asyncio.get_running_loop()
    for kill in kills:
        came = await moments.next(kill.moment, PATIENCE)
        await asyncio.sleep(kill.delay)
        victim: Worker | Server = worker if kill.victim == "worker" else server
        times = done.worker if kill.victim == "worker" else done.server
        times.append(loop.time())
        await victim.kill()
        done.moments.append(f"{kill.victim} {kill.moment if came else 'idle'}")
        # Before the revival: what the host sends meanwhile must not get lost either.
        moments.note_kill()
        await victim.start()
    return done
