"""What tests of `call_model` share: a turn in a store of dictionaries, real tools, and a client of the scripted model."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from openai import AsyncOpenAI

from activities.contracts import ModelReply, ModelRequest, PlacedResult
from activities.conversation import Message, ToolCallResult, UserMessage
from activities.model import ModelActivities, ModelSettings
from activities.personas import Persona, Personas
from activities.registry import ToolRegistry
from activities.sources import RagRetrievedChunk
from activities.tool import tool
from activities.turn_input import ExternalTool, TurnInput
from worker.scripted_model import ScriptedModel

KEY = "sk-test-0123456789abcdef"


@tool(side_effects=False)
def list_zones() -> list[str]:
    """List the zones."""
    return []


@tool(side_effects=False)
def get_user(id: int) -> str:  # noqa: A002 - the name of the field is what the test is about
    """Get a user."""
    return str(id)


@tool()
def write_file(path: str, body: str = "") -> None:
    """Write a file."""


@dataclass(slots=True)
class Turn:
    """A stored turn."""

    input: TurnInput
    persona_id: str = "default"
    memory_text: str | None = None
    sources: tuple[RagRetrievedChunk, ...] | None = None
    position: int = 1
    conversation_id: str = "c1"


@dataclass(slots=True)
class DictStore:
    """The store's contract in dictionaries: a row written again replaces the old one."""

    turns: dict[str, Turn] = field(default_factory=dict)
    placed: dict[str, dict[int, Message]] = field(default_factory=dict)
    earlier: list[list[Message]] = field(default_factory=list)
    enough: int | None = None

    def turn_and_rows(self, turn_id: str, upto: int) -> tuple[Turn | None, list[tuple[int, Message]]]:
        return self.turns.get(turn_id), self.rows(turn_id, upto)

    def put_rows(self, turn_id: str, rows: Sequence[tuple[int, Message]]) -> None:
        self.placed.setdefault(turn_id, {}).update(rows)

    def rows(self, turn_id: str, upto: int) -> list[tuple[int, Message]]:
        return sorted((row, message) for row, message in self.placed.get(turn_id, {}).items() if row < upto)

    def newest_turns(
        self, conversation_id: str, before_position: int, max_messages: int, max_chars: int, enough: int | None
    ) -> list[list[Message]]:
        self.enough = enough
        return self.earlier[::-1]


class Desk:
    """One turn `t1` whose user said something, and the activity that asks the scripted model about it."""

    def __init__(self, model: ScriptedModel, client: AsyncOpenAI, **settings: Any) -> None:
        self.model = model
        self.store = DictStore()
        self.persona = Persona(id="default", base_system_prompt="Be kind.")
        self.client = client
        self.tools = [list_zones, get_user, write_file]
        self.settings: dict[str, Any] = {"model": "scripted-1", "provider": "scripted", "timeout": 5.0, **settings}
        self.turn(content="hello")

    def turn(self, turn_id: str = "t1", memory_text: str | None = None, **fields: Any) -> None:
        turn_input = TurnInput.model_validate({"content": "hello", **fields})
        self.store.turns[turn_id] = Turn(turn_input, memory_text=memory_text)
        self.store.placed[turn_id] = {0: UserMessage(content=turn_input.content)}

    @property
    def activities(self) -> ModelActivities:
        return ModelActivities(
            store=self.store,
            personas=Personas([self.persona]),
            tools=ToolRegistry(self.tools),
            client=self.client,
            settings=ModelSettings(**self.settings),
        )

    async def ask(self, rows: int = 1, *results: PlacedResult, **fields: Any) -> ModelReply:
        """Ask with `rows` rows standing."""
        return await self.activities.call_model(request(rows, *results, **fields))


def request(rows: int = 1, *results: PlacedResult, **fields: Any) -> ModelRequest:
    """A request of turn `t1`; its round is the number of rows, which is unique enough."""
    return ModelRequest.model_validate(
        {"turn_id": "t1", "conversation_id": "c1", "round": rows, "rows": rows, "results": results, **fields}
    )


def placed(row: int, call_id: str, output: Any, name: str = "list_zones") -> PlacedResult:
    """A result at a row."""
    return PlacedResult(row=row, result=ToolCallResult(tool_call_id=call_id, tool_name=name, output=output))


def host_tool(name: str = "approve_refund") -> ExternalTool:
    """A tool of the host."""
    return ExternalTool(name=name)
