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

_Update = SearchAttributeUpdate[Any]


class Visibility:
    """Sets what the namespace does not know yet. Each call is at most one history event.

    A client may have started the turn with some of it, so that the turn is found before any worker has seen it.
    """

    def __init__(self) -> None:
        self._given = {pair.key.name: pair.value for pair in workflow.info().typed_search_attributes}
        self._registered = frozenset(self._given)
        self._delayed: list[_Update] = []

    def begin(self, begun: TurnBegun, given: TurnInput) -> None:
        """The turn runs; whose it is."""
        self._registered |= frozenset(begun.search_attributes)
        wanted = [
            _STATE.value_set("running"),
            _CONVERSATION.value_set(begun.conversation_id),
            _USER.value_set(given.user_id),
            _PERSONA.value_set(begun.persona_id),
        ]
        new = [update for update in wanted if self._given.get(update.key.name) != update.value]
        if [update.key for update in new] == [_PERSONA]:
            # Which persona is the default is not worth an event of its own: it goes with the next change.
            self._delayed = new
        else:
            self._set(*new)

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

    def _set(self, *updates: _Update) -> None:
        registered = [update for update in (*self._delayed, *updates) if update.key.name in self._registered]
        self._delayed = []
        if registered:
            workflow.upsert_search_attributes(registered)
