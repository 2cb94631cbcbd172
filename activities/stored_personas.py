"""Personas that the database holds beside those of the app. The app's come first: for them no question is asked."""

import asyncio

from activities.contracts import BeginTurn
from activities.personas import InstanceTurn, Persona, Personas
from activities.store.persona_store import PersonaStore
from activities.store_failures import store_failures


class StoredPersonas:
    """The personas of the app, and where others stand. One that is stored is data from outside: no more tools, no files."""

    def __init__(self, personas: Personas, store: PersonaStore) -> None:
        self.personas = personas
        self._store = store

    async def find(self, persona_id: str | None) -> Persona | None:
        """The stored persona of an id that the app does not have, or None.

        Raises:
            ApplicationError: SYS_DATABASE_ERROR.
        """
        if persona_id is None or self.personas.get(persona_id) is not None:
            return None
        with store_failures():
            found = await asyncio.to_thread(self._store.get, persona_id)
        return None if found is None else found.persona

    async def with_persona(self, request: BeginTurn) -> BeginTurn:
        """The request with the stored persona it names. It is kept with the turn, which ends with the version it began with."""
        given = request.input
        if given.instance is not None and given.instance.persona is not None:
            return request
        persona = await self.find(given.persona_id)
        if persona is None:
            return request
        instance = (given.instance or InstanceTurn()).model_copy(update={"persona": persona})
        return request.model_copy(update={"input": given.model_copy(update={"instance": instance})})
