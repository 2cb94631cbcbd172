"""The app of a worker that is a process of its own: the orders' API at the address in the environment."""

import os

from tests.workflows.shop import ADDRESS_VARIABLE, document, let_run
from worker.app import AgentApp, HttpController

shop = HttpController(
    name="shop",
    document=document(),
    names="operationId",
    connection={"host": os.environ[ADDRESS_VARIABLE]},
    allow_private_addresses=True,
    policy=let_run("createOrder"),
)
app = AgentApp(controllers=[shop])
