"""What each turn of a chaos run does. The plan stands in the user's message, so the model that follows it remembers nothing."""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.chaos.chaos_app import ONCE, REPEATABLE
from worker.demo_script import Call, Saying

ASK = "ask_host"
MARK = "plan "
FOLLOW_UP = "Are you still there?"
STILL_HERE = "I am here."

EXTERNAL_TOOLS = [{"name": ASK, "description": "Ask the host.", "inputSchema": {"type": "object"}}]


@dataclass(frozen=True, slots=True)
class Plan:
    """One turn. Each round is a list of calls: tool and seconds. `gates` say how many kills the host lets pass first.

    `thinking` is how long the model takes for each reply, in seconds.
    """

    name: str
    rounds: tuple[tuple[Call, ...], ...]
    gates: tuple[int, ...]
    thinking: float

    @property
    def conversation_id(self) -> str:
        """Each turn has a conversation of its own."""
        return f"conversation-{self.name}"

    @property
    def stored_id(self) -> str:
        """The turn's id in the store."""
        return f"{self.conversation_id}/{self.name}"

    @property
    def content(self) -> str:
        """The user's message."""
        return MARK + json.dumps({"name": self.name, "rounds": self.rounds, "thinking": self.thinking})

    @property
    def last_words(self) -> str:
        """What the turn must end with."""
        return f"Turn {self.name} is done."

    def calls(self, *names: str) -> int:
        """How many calls of these tools the turn makes."""
        return sum(call[0] in names for calls in self.rounds for call in calls)


def make_plans(chance: random.Random, turns: int, kills: int) -> list[Plan]:
    """Turns that between them last as long as the kills do: the host answers each pause only after its gate."""
    return [_plan(chance, f"t{number:03d}", kills) for number in range(turns)]


def follow(request: dict[str, Any]) -> tuple[str, Saying, float]:
    """The step a request asks for: its name, what the model says, and after how many seconds.

    The same for the same request, however often it comes.
    """
    messages: list[dict[str, Any]] = request["messages"]
    newest = max(place for place, message in enumerate(messages) if message["role"] == "user")
    content = str(messages[newest]["content"])
    if not content.startswith(MARK):
        return "follow-up", Saying(STILL_HERE), 0.0
    plan = json.loads(content.removeprefix(MARK))
    done = sum(message["role"] == "assistant" for message in messages[newest + 1 :])
    step = f"{plan['name']}/{done}"
    if done == len(plan["rounds"]):
        return step, Saying(f"Turn {plan['name']} is done."), plan["thinking"]
    return step, Saying(calls=tuple((name, arguments) for name, arguments in plan["rounds"][done])), plan["thinking"]


def _plan(chance: random.Random, name: str, kills: int) -> Plan:
    pauses = chance.randint(1, 3)
    rounds: list[tuple[Call, ...]] = []
    for _ in range(pauses):
        rounds += [_tools(chance) for _ in range(chance.randint(0, 2))]
        rounds.append((*_tools(chance, fewest=0), (ASK, {"question": chance.randint(1, 9)})))
        if chance.random() < 0.3:
            rounds[-1] += ((ASK, {"question": chance.randint(10, 99)}),)
    rounds.append(_tools(chance))
    gates = tuple(sorted(chance.randint(0, max(0, kills - 1)) for _ in range(pauses)))
    return Plan(name, tuple(rounds), gates, round(chance.uniform(0.1, 0.8), 2))


def _tools(chance: random.Random, fewest: int = 1) -> tuple[Call, ...]:
    names: Sequence[str] = chance.choices((REPEATABLE, ONCE), k=chance.randint(fewest, 2))
    return tuple((name, {"seconds": round(chance.uniform(0.1, 1.5), 2)}) for name in names)
