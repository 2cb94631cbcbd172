"""The page about AgentOS names tests that exist, and has every weakness once."""

import re
from pathlib import Path

import pytest

from tests.support import ROOT

ROWS = re.findall(r"^\| (\d+) \|.*\| (.+) \|$", (ROOT / "docs" / "agentos.md").read_text(), re.MULTILINE)
DEFINED = {
    name
    for path in Path(ROOT, "tests").rglob("test_*.py")
    for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text(), re.MULTILINE)
}


def test_it_has_all_25_rows_in_order() -> None:
    assert [int(number) for number, _ in ROWS] == list(range(1, 26))


@pytest.mark.parametrize(("number", "tests"), ROWS)
def test_each_row_names_tests_that_exist(number: str, tests: str) -> None:
    named = re.findall(r"`(test_\w+)`", tests)

    assert named, number
    assert set(named) <= DEFINED
