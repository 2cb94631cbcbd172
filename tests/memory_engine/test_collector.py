from __future__ import annotations

import gc

import pytest

from memory_engine import SnapshotCorruptError, parse_snapshot
from memory_engine.collector import collector_paused


def test_the_collector_runs_again_afterwards_whatever_happens() -> None:
    with pytest.raises(SnapshotCorruptError):
        parse_snapshot(b'{"l1": [1')
    assert gc.isenabled()
    with collector_paused(), collector_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_host_that_runs_without_it_keeps_it_so() -> None:
    gc.disable()
    try:
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
