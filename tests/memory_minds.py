"""Two models behind one server: the one that talks, and the one that helps memory to learn. Requests name which is meant."""

import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.support import Harness
from worker.app import AgentApp
from worker.scripted_model import Said
from worker.scripted_responses import Request, Response, refuse

MEMORY_MODEL = "memory-1"
STAGES = {"memories": "extract", "verdicts": "reconcile", "evaluation": "arbitrate"}
NOTHING: dict[str, Any] = {
    "extract": {"memories": [], "tensions": []},
    "reconcile": {"verdicts": []},
    "arbitrate": {"promotions": [], "demotions": [], "pins": [], "detectedTensions": []},
}

Answer = Said | Callable[[Request], Said]


@dataclass(slots=True)
class Minds:
    """Answers by who is asked. What is queued for a stage is said first; then it has nothing to say, in good form."""

    talks: Callable[[Request], Said] = field(default=lambda request: "ok")
    takes_schemas: bool = True
    asked: list[str] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    answers: dict[str, deque[Answer]] = field(default_factory=lambda: {stage: deque() for stage in NOTHING})

    def __call__(self, request: Request) -> Said:
        """The handler of the server."""
        if request["model"] != MEMORY_MODEL:
            return self.talks(request)
        if "response_format" in request and not self.takes_schemas:
            return refuse(400, "response_format is not supported by this server")
        stage = stage_of(request)
        self.asked.append(stage)
        self.requests.append(request)
        queued = self.answers[stage]
        answer = queued.popleft() if queued else json.dumps(NOTHING[stage])
        return answer(request) if callable(answer) else answer

    def say(self, stage: str, *answers: Answer | dict[str, Any]) -> None:
        """Queue answers: text as it is, an object as JSON text, a `Response` as it is."""
        self.answers[stage] += [json.dumps(each) if isinstance(each, dict) else each for each in answers]

    def found(self, *contents: str) -> None:
        """The extractor finds these."""
        self.say("extract", {"memories": [{"content": each, "domains": []} for each in contents], "tensions": []})


def stage_of(request: Request) -> str:
    """Which question it is; without a schema the instructions tell."""
    if "response_format" in request:
        return STAGES[request["response_format"]["json_schema"]["name"]]
    instructions = request["messages"][0]["content"]
    marks = {"memories": '"memories": {', "verdicts": '"verdicts": {', "evaluation": '"promotions": {'}
    return next(STAGES[name] for name, mark in marks.items() if mark in instructions)


def data_of(request: Request) -> dict[str, Any]:
    """What a memory model was shown."""
    shown = json.loads(request["messages"][1]["content"])
    assert isinstance(shown, dict)
    return shown


def silence() -> Response:
    """An answer that never comes."""
    return Response(hangs=True)


async def working(harness: Harness, app: AgentApp | None = None, **settings: Any) -> Minds:
    """A worker whose memory is helped by a model."""
    minds = Minds()
    harness.model.handler = minds
    await harness.work(app, memory_model=MEMORY_MODEL, **settings)
    return minds
