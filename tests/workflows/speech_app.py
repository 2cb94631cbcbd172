"""The app of a worker that is a process of its own: tools whose voice is a server at the address in the environment."""

import os
from urllib.request import Request, urlopen

from worker.app import AgentApp, AudioOutput, ToolContext, tool

ADDRESS_VARIABLE = "TURNHOLD_TEST_VOICE"


def spoken(text: str, context: ToolContext) -> AudioOutput:
    """Have the server say it. The key tells it which requests are one."""
    request = Request(
        os.environ[ADDRESS_VARIABLE] + "/speech", text.encode(), {"Idempotency-Key": context.idempotency_key}
    )
    with urlopen(request, timeout=60) as response:
        return AudioOutput(data=response.read(), format="mp3", text=text)


@tool(idempotent=True)
def speak(text: str, context: ToolContext) -> AudioOutput:
    """Say it, as often as it takes."""
    return spoken(text, context)


@tool
def shout(text: str, context: ToolContext) -> AudioOutput:
    """Say it once or never."""
    return spoken(text, context)


app = AgentApp(tools=[speak, shout])
