"""What starts a sub-agent: the task, and what it shares with the turn that hands it out. Pure."""

from hashlib import blake2b
from typing import Any

from activities.turn_input import Delegation, PauseOptions, TurnInput, TurnLimits, TurnOptions
from workflows.rounds import Delegate

CONVERSATION_CHARS = 200


def agent_input(
    given: TurnInput, conversation_id: str, call_id: str, task: Delegate, share: TurnLimits
) -> dict[str, Any]:
    """The input of the agent's turn, as JSON.

    User, session and organization are the caller's, and so are the host's tools, who answers, and by when, and the guardrails
    it asks for. The conversation is its own, and so are the persona's model and everything else.
    """
    turn = TurnInput(
        content=task.task,
        conversation_id=agent_conversation(conversation_id, call_id),
        interaction_id=call_id,
        user_id=given.user_id,
        session_id=given.session_id,
        organization_id=given.organization_id,
        persona_id=task.persona_id,
        user_context_override=given.user_context_override,
        external_tools=given.external_tools,
        required_guardrails=given.required_guardrails,
        options=TurnOptions(user_api_keys=given.options.user_api_keys),
        # A pause nobody answers ends as the caller's does; only the caller fails by it.
        pause=PauseOptions(timeout=given.pause.timeout),
        limits=share,
        delegation=Delegation(depth=depth_of(given) + 1),
    )
    return turn.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def depth_of(given: TurnInput) -> int:
    """How many turns stand above this one."""
    return given.delegation.depth if given.delegation is not None else 0


def agent_conversation(conversation_id: str, call_id: str) -> str:
    """The agent's conversation, named after its caller's and the call; a long name is cut, and stays one of a kind."""
    name = f"{conversation_id}.{call_id}"
    if len(name) <= CONVERSATION_CHARS:
        return name
    digest = blake2b(conversation_id.encode("utf-8", "replace"), digest_size=8).hexdigest()
    tail = f".{digest}.{call_id}"
    return f"{conversation_id[: CONVERSATION_CHARS - len(tail)]}{tail}"
