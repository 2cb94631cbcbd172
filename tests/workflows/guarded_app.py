"""An app whose guardrail writes down each time it is asked, and hangs the first time. `GUARDED_LOG` names the file."""

import os
import time
from pathlib import Path

from worker.app import AgentApp, GuardContext, Pass, Sanitise, guardrail

LOG_VARIABLE = "GUARDED_LOG"


@guardrail(stages=("input",), timeout="PT1M")
def slow(text: str, context: GuardContext) -> Pass | Sanitise:
    """Take its time with the first message it gets."""
    log = Path(os.environ[LOG_VARIABLE])
    is_first = not log.exists()
    with log.open("a") as file:
        file.write("asked\n")
    if is_first:
        time.sleep(60)
    return Sanitise(text.replace("4111", "[card]"), "a card number")


app = AgentApp(guardrails=[slow])
