"""The guide to functions does what it says: its commands run as they stand, its Python is an app, its links lead somewhere."""

import asyncio
import json
import re
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.walks import (
    POLLING,
    ROOT,
    await_port,
    blocks_of,
    make_checkout,
    run_script,
    running,
    walk_environment,
)
from worker.app import AgentApp
from worker.demo_script import Saying
from worker.dev_server import free_port
from worker.scripted_model import ScriptedModel

GUIDE = (ROOT / "docs" / "functions.md").read_text()
PYTHON, SHELL = blocks_of(GUIDE, "python"), blocks_of(GUIDE, "sh")


def readers_model(request: dict[str, Any]) -> Saying:
    """A model that does what the guide says of it."""
    tools = [each["function"]["name"] for each in request["tools"]]
    if tools == ["selectFunctions"]:
        chosen = [{"reason": "It reads the order.", "name": "read_order"}]
        return Saying(calls=(("selectFunctions", {"functions": chosen}),))
    place = max(place for place, each in enumerate(request["messages"]) if each["role"] == "user")
    said = request["messages"][place]["content"]
    results = [each["content"] for each in request["messages"][place:] if each["role"] == "tool"]
    if results and '"status": 2' in results[-1]:
        return Saying(f"This came out: {json.loads(results[-1])['body']}")
    if "lamps" in said:
        return Saying(calls=(("create_order", {"body": {"article": "lamp", "count": 10 if results else 20}}),))
    if "Pay" in said:
        return Saying(calls=(("pay_order", {"order_id": "1", "body": {"amount": 59}}),))
    return Saying(calls=(("read_order", {"order_id": "1"}),))


async def test_every_command_of_the_guide_runs(tmp_path: Path) -> None:
    """In order, in one shell; only ports are moved to free ones."""
    folder, port, api = make_checkout(tmp_path), free_port(), free_port()
    server, orders, worker, *steps = SHELL
    (folder / "my_agents.py").write_text(PYTHON[0].replace("8099", str(api)))
    async with ScriptedModel(readers_model) as model:
        environment = walk_environment(port, OPENAI_BASE_URL=model.base_url, TURNHOLD_MODEL="scripted-1")
        with (
            running(f"{server.rstrip()} --port {port} --ui-port {free_port()}", folder, environment),
            running(f"{orders.rstrip()} {api}", folder, environment),
        ):
            await asyncio.to_thread(await_port, port)
            await asyncio.to_thread(await_port, api)
            with running(worker, folder, environment):
                script = steps[0].replace("temporal workflow start", f"{POLLING}temporal workflow start", 1)
                out = await asyncio.to_thread(run_script, script + "".join(steps[1:]), folder, environment)
        requests = json.dumps(model.requests)

    assert "at most 10 of an article are sold" in requests
    assert "{'id': '1', 'article': 'lamp', 'count': 2, 'paid': False}" in out
    assert "{'id': '1', 'article': 'lamp', 'count': 2, 'paid': True}" in out
    assert '"human"' in out
    assert "selectFunctions" in requests
    assert "delete_order" not in requests
    assert "4111" not in requests
    assert "open-sesame" not in requests


@pytest.mark.parametrize("code", PYTHON, ids=range(len(PYTHON)))
async def test_python_blocks_are_apps_or_hosts(code: str) -> None:
    namespace: dict[str, Any] = {"__name__": "my_agents"}
    exec(compile(code, "functions.md", "exec"), namespace)
    app = namespace.get("app")
    if app is None:
        assert asyncio.iscoroutinefunction(namespace["pay"])
        return
    assert isinstance(app, AgentApp)
    # What needs no other process is opened too.
    if all("Class" in type(each).__name__ for each in app.controllers):
        async with AsyncExitStack() as stack:
            assert all(report.names for report in (await app.open(stack)).reports)


def test_links_lead_to_files() -> None:
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", GUIDE) if "://" not in target]

    assert targets
    assert [target for target in targets if not (ROOT / "docs" / target).exists()] == []
