"""The engine is a straight line of modules: each can be understood after those it imports."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import memory_engine

MODULES = sorted(Path(memory_engine.__file__).parent.glob("*.py"))


def imported(path: Path) -> set[str]:
    """Modules of the engine that one names, also those it names for types alone."""
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    return {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module}


def test_no_module_leads_back_to_itself() -> None:
    order = list(TopologicalSorter({path.stem: imported(path) for path in MODULES}).static_order())
    assert len(order) == len(MODULES)
