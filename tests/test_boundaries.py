"""Arrows between the packages go one way, and workflow code stays deterministic.

Each package is loaded in a fresh Python: what an earlier test imported must not hide an arrow that runs back.
"""

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OURS = ("memory_engine", "activities", "workflows", "worker")

# What must not be in memory once every module of the package is.
FORBIDDEN = {
    "memory_engine": ["temporalio", "activities", "workflows", "worker", "sqlalchemy", "sqlmodel", "openai", "httpx2"],
    "activities": ["workflows", "worker"],
    "workflows": ["worker"],
    "worker": ["tests"],
}
# What no module of the package may name, whatever others pull in.
UNNAMED = {
    "workflows": ["memory_engine", "worker", "openai", "sqlalchemy", "sqlmodel"],
    "activities": ["workflows", "worker"],
}
PURE = (
    *("rounds", "pause", "inbox", "answers", "start", "turn_state", "transcript", "display", "contracts", "names"),
    *(
        "agent_book",
        "agent_input",
        "agent_messages",
        "agents",
        "budget",
        "collected_parts",
        "corrections",
        "function_stack",
        "limits",
        "pending",
        "turn_report",
        "usage",
    ),
    *("gmi_context", "gmi_trace", "gmi_character", "gmi_feedback", "gmi_lifecycle", "gmi_health", "gmi_reflection"),
    *(
        "gmi_contracts",
        "gmi_refusal",
        "gmi_message",
        "gmi_queue",
        "gmi_state",
        "gmi_turn_book",
        "gmi_adaptation",
        "gmi_sentiment",
        "gmi_start",
        "gmi_display",
    ),
    "structured",
)

LOAD_ALL = """
import importlib, json, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    # A script and the environment of Alembic run something when they are loaded; they are loaded by name elsewhere.
    if not module.name.endswith(("__main__", "migrations.env")):
        importlib.import_module(module.name)
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""

LOAD_IN_SANDBOX = """
import asyncio, json, sys, warnings
import workflows.turn
from temporalio import workflow
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner
from temporalio.worker.workflow_sandbox._restrictions import RestrictionContext

warnings.simplefilter("error")
created = []

class Runner(SandboxedWorkflowRunner):
    def create_instance(self, det):
        created.append(super().create_instance(det))
        return created[-1]

async def load():
    Runner().prepare_workflow(workflow._Definition.must_from_class(workflows.turn.TurnWorkflow))

asyncio.run(load())
inside = {name: RestrictionContext.unwrap_if_proxied(module) for name, module in created[0].importer.new_modules.items()}
ours = [name for name in inside if name.partition(".")[0] in ("memory_engine", "activities", "workflows", "worker")]
print(json.dumps({
    "again": sorted(name for name in ours if inside[name] is not sys.modules.get(name)),
    "loaded": sorted(ours),
}))
"""


def run_fresh(code: str, *arguments: str, root: Path = ROOT) -> object:
    """What a fresh Python prints as JSON."""
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-3_000:]
    return json.loads(done.stdout.splitlines()[-1])


def modules_of(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def imported_by(tree: ast.AST) -> Iterator[str]:
    """Dotted names of what a module imports itself, wherever in it. Relative imports stay inside their package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("package", OURS)
def test_a_package_loads_alone_without_what_stands_above_it(package: str) -> None:
    loaded = run_fresh(LOAD_ALL, package)
    assert isinstance(loaded, list)
    assert package in loaded
    assert sorted(set(loaded) & set(FORBIDDEN[package])) == []


@pytest.mark.parametrize("package", UNNAMED)
def test_no_module_names_what_its_package_must_not_know(package: str) -> None:
    for path in modules_of(package):
        named = {name.partition(".")[0] for name in imported_by(ast.parse(path.read_text()))}
        assert sorted(named & set(UNNAMED[package])) == [], path


def test_the_memory_engine_imports_only_itself_numbers_and_wire_types() -> None:
    for path in modules_of("memory_engine"):
        named = {name.partition(".")[0] for name in imported_by(ast.parse(path.read_text()))}
        assert named - sys.stdlib_module_names <= {"memory_engine", "numpy", "pydantic", "pydantic_core"}, path


@pytest.mark.parametrize("name", PURE)
def test_a_pure_module_does_not_import_temporal(name: str) -> None:
    named = {each.partition(".")[0] for each in imported_by(ast.parse((ROOT / "workflows" / f"{name}.py").read_text()))}
    assert named - sys.stdlib_module_names <= {"activities", "workflows", "pydantic"}
    assert not named & {"asyncio", "temporalio"}


def test_pure_modules_lean_on_pure_modules_only() -> None:
    """Otherwise one of them would bring Temporal in by a back door of our own."""
    for name in PURE:
        tree = ast.parse((ROOT / "workflows" / f"{name}.py").read_text())
        siblings = {each.split(".")[1] for each in imported_by(tree) if each.startswith("workflows.")}
        assert siblings <= set(PURE), (name, siblings)


@pytest.mark.parametrize("package", ["workflows", "activities"])
def test_the_package_file_is_empty(package: str) -> None:
    """It is executed in the sandbox for every turn that starts or is replayed."""
    assert (ROOT / package / "__init__.py").read_text() == ""


def test_workflow_code_imports_activities_only_where_they_are_passed_through() -> None:
    """One import outside the block loads all contracts anew for every turn."""
    for path in modules_of("workflows"):
        tree = ast.parse(path.read_text())
        if not any(name.startswith("temporalio") for name in imported_by(tree)):
            continue
        outside = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        names = {name.partition(".")[0] for node in outside for name in imported_by(node)}
        assert names <= {*sys.stdlib_module_names, "temporalio"}, path


def test_only_the_workflow_itself_is_loaded_a_second_time_in_the_sandbox() -> None:
    found = run_fresh(LOAD_IN_SANDBOX)
    assert isinstance(found, dict)
    assert found["again"] == ["workflows", "workflows.turn"]
    assert {"workflows.pause", "workflows.limits", "activities.contracts"} <= set(found["loaded"])


def test_a_second_copy_of_a_module_would_be_noticed(tmp_path: Path) -> None:
    """The sandbox takes `from workflows import rounds` for a module of the workflow's own package: isinstance then lies."""
    for package in OURS[:3]:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    turn = tmp_path / "workflows" / "turn.py"
    source = turn.read_text()
    assert source.count("import workflows.limits as limiting") == 1
    turn.write_text(source.replace("import workflows.limits as limiting", "from workflows import limits as limiting"))
    found = run_fresh(LOAD_IN_SANDBOX, root=tmp_path)
    assert isinstance(found, dict)
    assert "workflows.limits" in found["again"]


# Names whose value differs from run to run; each has a deterministic counterpart on `workflow`.
UNREPEATABLE = {
    "datetime.now": "workflow.now()",
    "datetime.utcnow": "workflow.now()",
    "datetime.today": "workflow.now()",
    "date.today": "workflow.now()",
    "time.time": "workflow.time()",
    "time.time_ns": "workflow.time_ns()",
    "time.monotonic": "workflow.time()",
    "time.perf_counter": "workflow.time()",
    "time.sleep": "workflow.sleep()",
    "os.environ": "an activity",
    "os.getenv": "an activity",
    "os.urandom": "workflow.random()",
    "uuid.uuid1": "workflow.uuid4()",
    "uuid.uuid4": "workflow.uuid4()",
    "asyncio.wait": "workflow.wait()",
    "asyncio.as_completed": "workflow.as_completed()",
}
UNREPEATABLE_MODULES = {
    "random",
    "secrets",
    "uuid",
    "os",
    "time",
    "socket",
    "threading",
    "subprocess",
    "pathlib",
    "tempfile",
}
UNREPEATABLE_CALLS = {"open", "input", "print", "hash", "id", "globals", "exec", "eval", "uuid4"}


def dotted(node: ast.AST) -> str:
    """`a.b.c` of an attribute or a name."""
    if isinstance(node, ast.Name):
        return node.id
    return f"{dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else ""


def is_set(node: ast.AST, sets: set[str]) -> bool:
    """Whether an expression is a set, as far as its text shows."""
    match node:
        case ast.Set() | ast.SetComp():
            return True
        case ast.Call(func=ast.Name(id="set" | "frozenset")):
            return True
        case ast.BinOp(op=ast.Sub() | ast.BitOr() | ast.BitAnd() | ast.BitXor()):
            return is_set(node.left, sets) or is_set(node.right, sets)
        case ast.Name() | ast.Attribute():
            return dotted(node) in sets
    return False


def names_of_sets(tree: ast.AST) -> set[str]:
    """Names that are bound to a set, or annotated as one, anywhere in a module; a field counts with `self.` too."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and is_set(node.value, found):
            found |= {dotted(target) for target in node.targets}
        elif isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation).startswith(("set[", "frozenset[")):
            found |= {dotted(node.target), f"self.{dotted(node.target)}"}
        elif (
            isinstance(node, ast.arg)
            and node.annotation
            and ast.unparse(node.annotation).startswith(("set[", "frozenset["))
        ):
            found.add(node.arg)
    return found - {""}


def faults_of(source: str) -> list[str]:
    """What in workflow code could come out differently on replay."""
    tree = ast.parse(source)
    sets = names_of_sets(tree)
    faults = [f"imports {name}" for name in imported_by(tree) if name.partition(".")[0] in UNREPEATABLE_MODULES]
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Attribute) and (name := ".".join(dotted(node).split(".")[-2:])) in UNREPEATABLE:
            faults.append(f"line {line}: {name}; use {UNREPEATABLE[name]}")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in UNREPEATABLE_CALLS:
                faults.append(f"line {line}: {node.func.id}()")
            ordered = node.func.id in ("list", "tuple", "next", "iter", "enumerate", "map", "filter", "zip")
            if ordered and any(is_set(argument, sets) for argument in node.args):
                faults.append(f"line {line}: takes a set in its own order; sort it")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join":
            faults += [
                f"line {line}: joins a set in its own order; sort it" for each in node.args if is_set(each, sets)
            ]
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension) and is_set(node.iter, sets):
            faults.append(f"line {getattr(node.iter, 'lineno', 0)}: walks a set in its own order; sort it")
    return faults


@pytest.mark.parametrize("path", modules_of("workflows"), ids=lambda path: path.stem)
def test_workflow_code_comes_out_the_same_on_replay(path: Path) -> None:
    assert faults_of(path.read_text()) == []


@pytest.mark.parametrize(
    "line",
    [
        "from datetime import datetime\nnow = datetime.now()",
        "import datetime\nnow = datetime.datetime.utcnow()",
        "import random",
        "from uuid import uuid4",
        "import time\ntime.time()",
        "import os\nkey = os.environ['KEY']",
        "open('file')",
        "print('x')",
        "for name in {'a', 'b'}: pass",
        "names = {'a'} | other\nfor name in names: pass",
        "names: set[str] = make()\nfirst = [name for name in names]",
        "class A:\n    seen: set[str]\n    def f(self):\n        return list(self.seen)",
        "def f(names: set[str]): return ', '.join(names)",
        "hash('x')",
        "asyncio.wait(tasks)",
    ],
)
def test_what_would_differ_on_replay_is_noticed(line: str) -> None:
    assert faults_of(line) != []


@pytest.mark.parametrize(
    "line",
    [
        "now = workflow.now()",
        "for name in sorted({'a', 'b'}): pass",
        "names: set[str] = make()\nknown = 'a' in names\nfirst = sorted(names)",
        "for name in dict.fromkeys(names): pass",
        "from datetime import datetime\nthen = datetime.fromisoformat(text)",
    ],
)
def test_what_is_the_same_on_replay_is_left_alone(line: str) -> None:
    assert faults_of(line) == []
