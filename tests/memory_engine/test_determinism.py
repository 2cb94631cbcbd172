"""A step that is run again, in another process, ends where it ended before."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
from memory_engine import CognitiveMemory, dump_snapshot
engine = CognitiveMemory()
turns = ["My order is #1042. Call me Ren. Docs are at https://docs.acme.dev/v2.",
         "Never deploy ZQ7X4M2K to db.acme.io on Friday.", "Actually Harbor moved to Svelte.",
         "Our Harbor board runs on Vue.", "No, my order is #1055."]
for at, turn in enumerate(turns):
    engine.post_turn(turn, "deploy harbor docs order", turn_id=f"t{at}", now=at)
print(dump_snapshot(engine.get_snapshot()).decode())
print(engine.plan_injection("ZQ7X4M2K on db.acme.io").text)
print([hit.item.id for hit in engine.search("order deploy harbor docs friday")])
print([item.id for item in engine.recall_similar("deploy harbor docs order")])
"""


def run(hash_seed: str, time_zone: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "TZ": time_zone}
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment
    )
    return answer.stdout


def test_neither_the_order_of_hashes_nor_the_time_zone_changes_a_byte() -> None:
    first = run("1", "Asia/Tokyo")
    assert "#1055" in first
    assert run("2", "America/Los_Angeles") == first
