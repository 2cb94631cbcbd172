"""Who answers: a persona's prompt, model and tools, as data."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field, field_validator, model_validator

from activities.documents import MAX_DOCUMENTS, Document
from activities.persona_character import MemoryImprint, MetaPrompt, MoodAdaptation, TraceLimits, TraitValue
from activities.persona_host import HostFields
from activities.persona_memory import CompletionOptions, ConversationContext, PersonaMemory, RagConfig
from activities.persona_prompt import BasePrompt, ContextualElement, unfilled, written
from activities.sentiment import SentimentTracking
from activities.sources import MAX_SOURCES, RagRetrievedChunk
from activities.wire import Sparse, Wire

Modality = Literal["text", "image", "audio"]
# Source: IPersonaDefinition of AgentOS, beside our own shorter names.
InputModality = Literal["text", "image", "audio", "audio_transcription", "vision_image_url", "vision_image_base64"]
OutputModality = Literal["text", "image", "audio", "audio_tts", "image_generation_tool_result"]
_OUTPUT_NAMES: dict[Modality, OutputModality] = {"audio": "audio_tts", "image": "image_generation_tool_result"}


class UICommandKind(Wire):
    """One command that the persona may send to the host's user interface, and what its payload must be."""

    name: str = Field(min_length=1, max_length=64, pattern=r"^[A-Za-z_][A-Za-z0-9_.:-]*$")
    description: str = Field(default="", max_length=1_000)
    payload_schema: dict[str, Any] = Field(default_factory=lambda: {"type": "object"})


class Persona(HostFields):
    """One persona. Without `tool_ids` it may use every tool of the app; None elsewhere means the settings' default.

    `history_tokens` bounds what earlier turns may take of the prompt, in estimated tokens. `required_secrets` are names of
    secrets of the worker, without which it does not start. `guardrails` are the names of those
    that judge its turns, beside those the app requires; None means all of the app. `ui_commands` are what the model may have
    the host's user interface do; without any it has no such tool. `sub_agents` are ids of personas of the app that it may hand
    tasks to. Traits, moods, meta prompts and what working memory holds matter to an instance alone. Source of the names:
    IPersonaDefinition of AgentOS; a field nobody knows is refused by name.
    """

    id: str = Field(min_length=1, max_length=200)
    name: str = ""
    description: str = ""
    base_system_prompt: BasePrompt = "You are a helpful assistant."
    tool_ids: tuple[str, ...] | None = None
    model: str | None = Field(
        default=None,
        validation_alias=AliasChoices("model", "defaultModelId", "default_model_id"),
        serialization_alias="model",
    )
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
    allowed_input_modalities: tuple[InputModality, ...] | None = None
    allowed_output_modalities: Sparse[tuple[OutputModality, ...]] = None
    hard_limits: tuple[str, ...] = Field(default=(), max_length=50)
    ui_commands: Annotated[tuple[UICommandKind, ...], Field(exclude_if=lambda kinds: not kinds)] = Field(
        default=(), max_length=32
    )
    sub_agents: Annotated[tuple[str, ...], Field(exclude_if=lambda ids: not ids)] = Field(default=(), max_length=16)
    reasoning_trace_config: TraceLimits | None = None
    documents: tuple[Document, ...] = Field(default=(), max_length=MAX_DOCUMENTS)
    sentiment_tracking: Sparse[SentimentTracking] = None
    default_model_completion_options: Sparse[CompletionOptions] = None
    conversation_context_config: Sparse[ConversationContext] = None
    contextual_prompt_elements: Sparse[tuple[ContextualElement, ...]] = Field(default=None, max_length=100)
    custom_fields: Sparse[dict[str, Any]] = None
    required_secrets: Sparse[tuple[str, ...]] = Field(default=None, max_length=100)

    @field_validator("hard_limits", mode="before")
    @classmethod
    def _one_or_many(cls, given: Any) -> Any:
        return (given,) if isinstance(given, str) else given

    @model_validator(mode="after")
    def _is_whole(self) -> "Persona":
        if missing := unfilled(self.base_system_prompt, self._prompt_values):
            raise ValueError(f"baseSystemPrompt.variables: no field and no customFields fill {', '.join(missing)}")
        ids = [document.id for document in self.documents]
        if twice := next((each for each in ids if ids.count(each) > 1), None):
            raise ValueError(f"documents: {twice} stands twice")
        return self

    @property
    def system_prompt(self) -> str:
        """The base prompt as text."""
        return written(self.base_system_prompt, self._prompt_values)

    @property
    def completion(self) -> CompletionOptions:
        """How the model is asked where a turn does not say; the persona's own fields count before the nested ones."""
        own = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        nested = self.default_model_completion_options or CompletionOptions()
        return nested.model_copy(update={name: value for name, value in own.items() if value is not None})

    @property
    def history_limits(self) -> tuple[int, int | None]:
        """What earlier turns may take of the prompt: tokens, and messages."""
        within = self.memory_config.conversation_context if self.memory_config else None
        said = [each for each in (self.conversation_context_config, within) if each is not None]
        messages = next((each.max_messages for each in said if each.max_messages is not None), None)
        tokens = next((each.max_tokens for each in said if each.max_tokens is not None), self.history_tokens)
        return tokens, messages

    @property
    def remembers(self) -> bool:
        """Whether memory is used and learns."""
        return self.memory_config is None or self.memory_config.enabled

    @property
    def adaptable_traits(self) -> dict[str, float]:
        """Traits that have a number, which an instance may change."""
        return {name: value for name, value in self.personality_traits.items() if not isinstance(value, str)}

    @property
    def starting_memory(self) -> dict[str, Any]:
        """What an instance's working memory holds from the start."""
        custom = self.custom_fields or {}
        nested = custom.get("defaultWorkingMemoryConfig")
        contexts = {"currentUserContext": "initialUserContext", "currentTaskContext": "initialTaskContext"}
        return {
            **(nested if isinstance(nested, dict) else {}),
            **self.default_working_memory,
            **{key: custom[name] for key, name in contexts.items() if isinstance(custom.get(name), dict)},
        }

    @property
    def _prompt_values(self) -> dict[str, str]:
        own = {"id": self.id, "name": self.name, "description": self.description, "version": self.version}
        own["defaultLanguage"] = self.default_language or ""
        custom = (self.custom_fields or {}).items()
        return {**{key: str(value) for key, value in custom if isinstance(value, str | int | float)}, **own}

    @property
    def rag(self) -> RagConfig | None:
        """How the persona retrieves, where it says so."""
        return self.memory_config.rag_config if self.memory_config else None

    def may_answer_with(self, modality: Modality) -> bool:
        """Whether the user may get this from it."""
        allowed = self.allowed_output_modalities
        return allowed is None or modality in allowed or _OUTPUT_NAMES.get(modality) in allowed


class InstanceTurn(Wire):
    """What the turn of an instance is told of it: whose child it is, and what its persona is like now.

    `persona` is set where the instance has one of its own, or the database held it when the turn began; `manner` stands behind
    the persona's prompt. `rag_sources` are sources the host gave for this turn, which then retrieves none itself.
    """

    gmi_id: str | None = Field(default=None, min_length=1, max_length=200)
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
        prompt = f"{persona.system_prompt}\n\n{instance.manner}"
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
