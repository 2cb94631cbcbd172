"""Who answers: a persona's prompt, model and tools, as data."""

from collections.abc import Iterable

from pydantic import Field

from activities.wire import Wire


class Persona(Wire):
    """One persona. Without `tool_ids` it may use every tool of the app; None elsewhere means the settings' default.

    `history_tokens` bounds what earlier turns may take of the prompt, in estimated tokens.
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

    @property
    def ids(self) -> tuple[str, ...]:
        """All ids, the default one first."""
        return tuple(self._by_id)
