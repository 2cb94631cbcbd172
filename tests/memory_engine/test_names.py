from __future__ import annotations

import subprocess
import sys

import pytest

import memory_engine


@pytest.mark.parametrize("name", memory_engine.__all__)
def test_every_listed_name_exists(name: str) -> None:
    assert getattr(memory_engine, name) is not None


def test_constants_have_their_agreed_values() -> None:
    assert memory_engine.CANDIDATE_FLOOR == 0.3
    assert memory_engine.COLLAPSE_THRESHOLD == 0.8
    assert memory_engine.PROMOTE_THRESHOLD == 0.12
    assert memory_engine.MAX_CANDIDATES == 8


def test_the_package_loads_without_its_neighbours_or_any_io() -> None:
    program = (
        "import sys, memory_engine;"
        "print(sorted({name.partition('.')[0] for name in sys.modules}"
        " & {'temporalio', 'openai', 'httpx', 'sqlmodel', 'activities', 'workflows', 'worker'}))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
