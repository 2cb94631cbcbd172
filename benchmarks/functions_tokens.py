"""What the requests of a turn weigh whose model may choose among 700 functions, beside a request that offers them all.

The turns are real: a worker, a server, a model that chooses by a script. A token is taken to be four bytes of the request.
"""

import json
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from activities.controllers.http import HttpController
from activities.personas import Persona
from benchmarks.functions_document import OPERATIONS, make_document
from benchmarks.stage import KEY, MODEL
from benchmarks.tables import Line, kilobytes, table
from worker.app import AgentApp
from worker.build import running_worker
from worker.client import TurnClient
from worker.demo_script import Saying
from worker.dev_server import dev_server
from worker.scripted_model import ScriptedModel
from worker.settings import Settings

MESSAGE = "Put the contract with the id 7f0c on hold: contract 16 of the contracts."
WANTED = ("getContract16", "changeContract16")
CANDIDATES = 40
TARGET_SHARE = 0.05

Request = dict[str, Any]


async def measure() -> str:
    """The table of one run."""
    app = AgentApp(controllers=[HttpController("business", make_document(), names="operationId")])
    everything = await _offering_everything(app)
    listed, execute = await _requests(app, {})
    likely, _ = await _requests(app, {"candidates": CANDIDATES})
    lines = [_line(f"all {OPERATIONS} functions offered at once", everything, everything)]
    for name, request in (
        (f"select, all {OPERATIONS} listed", listed),
        (f"select, {CANDIDATES} candidates listed", likely),
        (f"execute, {len(WANTED)} functions chosen", execute),
    ):
        lines.append(_line(name, request, everything))
    both = len(_text(likely)) + len(_text(execute))
    share = both / len(_text(everything))
    figures = (kilobytes(both), f"{both // 4:,}", f"{share:.1%}")
    lines.append(Line("select of candidates and execute", figures, f"under {TARGET_SHARE:.0%}", share < TARGET_SHARE))
    return table("What a request weighs", ("bytes", "tokens", "share"), lines)


async def _requests(app: AgentApp, selection: Request) -> tuple[Request, Request]:
    """The requests of a turn that choose and that call."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="turnhold-bench-")))
        server = await stack.enter_async_context(dev_server(folder))
        model = await stack.enter_async_context(ScriptedModel(_choose))
        settings = Settings.model_validate(
            {
                "database_url": f"sqlite:///{folder}/turnhold.db",
                "model": MODEL,
                "openai_base_url": model.base_url,
                "openai_api_key": KEY,
            }
        )
        client = await server.connect()
        await stack.enter_async_context(running_worker(client, app, settings))
        options = {"toolSelection": "select", "selection": selection}
        await (await TurnClient(client).start(MESSAGE, options=options)).result()
        select, execute = model.requests
        return select, execute


def _choose(request: Request) -> Saying:
    tools = [each["function"]["name"] for each in request["tools"]]
    if tools != ["selectFunctions"]:
        return Saying("Which state shall it have?")
    listing = next(each["content"] for each in request["messages"] if each["role"] == "tool")
    known = {each["name"] for each in json.loads(listing)}
    assert set(WANTED) <= known, f"the list leaves out {set(WANTED) - known}"
    chosen = [{"reason": "It is about this contract.", "name": name} for name in WANTED]
    return Saying(calls=(("selectFunctions", {"functions": chosen}),))


async def _offering_everything(app: AgentApp) -> Request:
    """The request that no model takes, as a turn would send it."""
    async with AsyncExitStack() as stack:
        tools = (await app.open(stack)).tools
        definitions = tools.definitions(Persona(id="default", name="Assistant"), ())
    return {"model": MODEL, "messages": [{"role": "user", "content": MESSAGE}], "tools": definitions}


def _line(name: str, request: Request, everything: Request) -> Line:
    size = len(_text(request))
    return Line(name, (kilobytes(size), f"{size // 4:,}", f"{size / len(_text(everything)):.1%}"))


def _text(request: Request) -> bytes:
    return json.dumps(request, ensure_ascii=False).encode()
