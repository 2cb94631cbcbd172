"""Search attributes of a turn: what a list of workflows can be filtered by.

Only registered ones are set: setting an unregistered one fails the workflow task again and again.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from temporalio import workflow
from temporalio.common import SearchAttributeKey, SearchAttributeUpdate

with workflow.unsafe.imports_passed_through():
    from activities.contracts import TurnBegun
    from activities.turn_input import TurnInput
    from workflows import names
    from workflows.contracts import PendingCall, TurnPhase

_STATE = SearchAttributeKey.for_keyword(names.TURN_STATE)
_CONVERSATION = SearchAttributeKey.for_keyword(names.CONVERSATION_ID)
_USER = SearchAttributeKey.for_keyword(names.USER_ID)
_PERSONA = SearchAttributeKey.for_keyword(names.PERSONA_ID)
_TOOLS = SearchAttributeKey.for_keyword_list(names.PENDING_TOOLS)
_DEADLINE = SearchAttributeKey.for_datetime(names.PAUSE_DEADLINE)

MAX_TOOLS_SHOWN = 20


class Visibility:
    """Sets what the namespace knows. Each call is one history event."""

    def __init__(self) -> None:
        self._registered: frozenset[str] = frozenset()

    def begin(self, begun: TurnBegun, given: TurnInput) -> None:
        """The turn runs; whose it is."""
        self._registered = frozenset(begun.search_attributes)
        self._set(
            _STATE.value_set("running"),
            _CONVERSATION.value_set(begun.conversation_id),
            _USER.value_set(given.user_id),
            _PERSONA.value_set(begun.persona_id),
        )

    def waiting(self, calls: Sequence[PendingCall], deadline: datetime) -> None:
        """The turn waits for these calls until the deadline."""
        tools = sorted({call.name for call in calls})[:MAX_TOOLS_SHOWN]
        self._set(_STATE.value_set("waiting"), _TOOLS.value_set(tools), _DEADLINE.value_set(deadline))

    def running(self) -> None:
        """The pause is over."""
        self._set(_STATE.value_set("running"), _TOOLS.value_unset(), _DEADLINE.value_unset())

    def ended(self, phase: TurnPhase) -> None:
        """The turn is over."""
        self._set(_STATE.value_set(phase))

    def _set(self, *updates: SearchAttributeUpdate[Any]) -> None:
        known = [update for update in updates if update.key.name in self._registered]
        if known:
            workflow.upsert_search_attributes(known)
