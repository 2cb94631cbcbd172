"""Who answers: a persona's prompt, model and tools, as data."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field

from activities.documents import MAX_DOCUMENTS, Document
from activities.persona_character import MemoryImprint, MetaPrompt, MoodAdaptation, TraceLimits, TraitValue
from activities.persona_memory import PersonaMemory, RagConfig
from activities.sentiment import SentimentTracking
from activities.sources import MAX_SOURCES, RagRetrievedChunk
from activities.wire import Sparse, Wire

Modality = Literal["text", "image", "audio"]


class UICommandKind(Wire):
    """One command that the persona may send to the host's user interface, and what its payload must be."""

    name: str = Field(min_length=1, max_length=64, pattern=r"^[A-Za-z_][A-Za-z0-9_.:-]*$")
    description: str = Field(default="", max_length=1_000)
    payload_schema: dict[str, Any] = Field(default_factory=lambda: {"type": "object"})


class Persona(Wire):
    """One persona. Without `tool_ids` it may use every tool of the app; None elsewhere means the settings' default.

    `history_tokens` bounds what earlier turns may take of the prompt, in estimated tokens. `guardrails` are the names of those
    that judge its turns, beside those the app requires; None means all of the app. `ui_commands` are what the model may have
    the host's user interface do; without any it has no such tool. `sub_agents` are ids of personas of the app that it may hand
    tasks to. The other fields after `history_tokens` matter to an
    instance alone. Source of their names: IPersonaDefinition of AgentOS.
    """

    id: str = Field(min_length=1, max_length=200)
    name: str = ""
    description: str = ""
    base_system_prompt: str = "You are a helpful assistant."
    tool_ids: tuple[str, ...] | None = None
    model: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    history_tokens: int = 32_000
    guardrails: Sparse[tuple[str, ...]] = Field(default=None, max_length=100)
    version: str = "1"
    personality_traits: dict[str, TraitValue] = Field(default_factory=dict, max_length=100)
    mood_adaptation: MoodAdaptation | None = None
    default_working_memory: dict[str, Any] = Field(default_factory=dict)
    initial_memory_imprints: tuple[MemoryImprint, ...] = ()
    meta_prompts: tuple[MetaPrompt, ...] = Field(default=(), max_length=32)
    memory_config: PersonaMemory | None = None
    allowed_input_modalities: tuple[Modality, ...] | None = None
    allowed_output_modalities: Sparse[tuple[Modality, ...]] = None
    hard_limits: tuple[str, ...] = Field(default=(), max_length=50)
    ui_commands: Annotated[tuple[UICommandKind, ...], Field(exclude_if=lambda kinds: not kinds)] = Field(
        default=(), max_length=32
    )
    sub_agents: Annotated[tuple[str, ...], Field(exclude_if=lambda ids: not ids)] = Field(default=(), max_length=16)
    reasoning_trace_config: TraceLimits | None = None
    documents: tuple[Document, ...] = Field(default=(), max_length=MAX_DOCUMENTS)
    sentiment_tracking: Sparse[SentimentTracking] = None

    @property
    def rag(self) -> RagConfig | None:
        """How the persona retrieves, where it says so."""
        return self.memory_config.rag_config if self.memory_config else None

    def may_answer_with(self, modality: Modality) -> bool:
        """Whether the user may get this from it."""
        return self.allowed_output_modalities is None or modality in self.allowed_output_modalities


class InstanceTurn(Wire):
    """What the turn of an instance is told of it: whose child it is, and what its persona is like now.

    `persona` is set where the instance has one of its own; `manner` stands behind the persona's prompt. `rag_sources` are
    sources the host gave for this turn, which then retrieves none itself.
    """

    gmi_id: str = Field(min_length=1, max_length=200)
    persona: Persona | None = None
    manner: str = Field(default="", max_length=20_000)
    rag_sources: tuple[RagRetrievedChunk, ...] | None = Field(default=None, max_length=MAX_SOURCES)


class Personas:
    """The app's personas by id; the first is the default."""

    def __init__(self, personas: Iterable[Persona]) -> None:
        self._by_id = {persona.id: persona for persona in personas}
        if not self._by_id:
            raise ValueError("an app needs at least one persona")

    def get(self, persona_id: str | None) -> Persona | None:
        """The persona of that id, the default one for None, or None when there is no such persona."""
        if persona_id is None:
            return next(iter(self._by_id.values()))
        return self._by_id.get(persona_id)

    def of_turn(self, persona_id: str | None, instance: InstanceTurn | None) -> Persona | None:
        """The persona as a turn uses it: that of its instance, in its present manner, or the app's of that id."""
        own = instance.persona if instance is not None else None
        persona = self.within_grants(own) if own is not None and persona_id in (None, own.id) else self.get(persona_id)
        if persona is None or instance is None or not instance.manner:
            return persona
        prompt = f"{persona.base_system_prompt}\n\n{instance.manner}"
        return persona.model_copy(update={"base_system_prompt": prompt})

    def within_grants(self, own: Persona) -> Persona:
        """A persona that came from outside, with no other tools and sub-agents than those some persona of the app may use,
        and no file.

        It is judged by the guardrails of the app's persona of its id, or else by all: it may ask for some, and drop none.
        """
        known = self._by_id.get(own.id)
        own = own.model_copy(
            update={
                "documents": tuple(each for each in own.documents if each.path is None),
                "guardrails": None if known is None else known.guardrails,
                "sub_agents": tuple(each for each in own.sub_agents if each in self._named_agents),
            }
        )
        granted = self.granted_tools
        if granted is None:
            return own
        wanted = granted if own.tool_ids is None else [name for name in own.tool_ids if name in granted]
        return own.model_copy(update={"tool_ids": tuple(wanted)})

    @property
    def _named_agents(self) -> set[str]:
        return {agent for persona in self._by_id.values() for agent in persona.sub_agents}

    @property
    def granted_tools(self) -> tuple[str, ...] | None:
        """The tools that the app's personas name together; None when one of them may use every tool."""
        named: dict[str, None] = {}
        for persona in self._by_id.values():
            if persona.tool_ids is None:
                return None
            named.update(dict.fromkeys(persona.tool_ids))
        return tuple(named)

    @property
    def ids(self) -> tuple[str, ...]:
        """All ids, the default one first."""
        return tuple(self._by_id)
