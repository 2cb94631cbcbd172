"""The search attributes of turns: which of them the namespace has registered, and what a turn is started with."""

import time
from collections.abc import Mapping
from typing import Any

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.client import Client
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes
from temporalio.service import RPCError

from activities.turn_input import TurnInput
from workflows import names

REFRESH_SECONDS = 60.0
# An id longer than this is refused by the turn itself, in better words than the server's.
LONGEST_VALUE = 200
DEFAULT_USER = TurnInput.model_fields["user_id"].default
_TYPES = {
    "Keyword": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    "KeywordList": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
    "Datetime": IndexedValueType.INDEXED_VALUE_TYPE_DATETIME,
}


class RegisteredAttributes:
    """Our search attributes that one namespace has."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._registered: frozenset[str] = frozenset()
        self._asked_at: float | None = None

    async def names(self) -> frozenset[str]:
        """Those registered, asked at most once a minute; none when the namespace does not say."""
        now = time.monotonic()
        if self._asked_at is None or now - self._asked_at > REFRESH_SECONDS:
            self._registered = await self._listed()
            self._asked_at = now
        return self._registered

    async def register(self) -> tuple[str, ...]:
        """Register what is missing, where we may; the names that are still missing."""
        missing = set(names.SEARCH_ATTRIBUTES) - await self._listed()
        if missing:
            request = AddSearchAttributesRequest(
                namespace=self._client.namespace,
                search_attributes={name: _TYPES[names.SEARCH_ATTRIBUTES[name]] for name in sorted(missing)},
            )
            try:
                await self._client.operator_service.add_search_attributes(request)
            except RPCError:
                # Temporal Cloud and locked-down servers refuse this; turns run without, and the worker says so.
                return tuple(sorted(missing))
        return tuple(sorted(set(names.SEARCH_ATTRIBUTES) - await self._listed()))

    async def _listed(self) -> frozenset[str]:
        """Names registered with the very type we use."""
        try:
            listed = await self._client.operator_service.list_search_attributes(
                ListSearchAttributesRequest(namespace=self._client.namespace)
            )
        except RPCError:
            return frozenset()
        return frozenset(
            name for name, kind in names.SEARCH_ATTRIBUTES.items() if listed.custom_attributes.get(name) == _TYPES[kind]
        )


def starting_attributes(body: Mapping[str, Any], registered: frozenset[str]) -> TypedSearchAttributes:
    """What a turn with this input can be found by from its start, before any worker has seen it."""
    wanted = {
        names.TURN_STATE: "running",
        names.CONVERSATION_ID: body.get("conversationId"),
        names.USER_ID: body.get("userId", body.get("user_id", DEFAULT_USER)),
        names.PERSONA_ID: body.get("personaId", body.get("persona_id")),
    }
    return TypedSearchAttributes(
        [
            SearchAttributePair(SearchAttributeKey.for_keyword(name), value)
            for name, value in wanted.items()
            if name in registered and isinstance(value, str) and 0 < len(value) <= LONGEST_VALUE
        ]
    )
