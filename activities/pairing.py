"""The rules that every provider enforces between calls and results, checked before the model is asked.

Each call of an assistant message has exactly one tool message, directly after that message and before any other role; no
tool message stands without its call; no message uses an id twice. An id may come again in a later message: what is sent for
it is another one then.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

from activities.conversation import AssistantMessage, Message, ToolMessage


def pairing_fault(messages: Iterable[Message]) -> str | None:
    """The first breach of the pairing rules, in words; None when there is none."""
    used: set[str] = set()
    missing: list[str] = []
    for place, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            answered = message.result.tool_call_id
            if answered not in missing:
                known = "a second result" if answered in used else "a result without its call"
                return f"message {place} is {known}: {answered}"
            missing.remove(answered)
            continue
        if missing:
            return f"message {place} stands before the results of {', '.join(missing)}"
        if isinstance(message, AssistantMessage):
            for call in message.tool_calls:
                if call.id in missing:
                    return f"message {place} uses the call id {call.id} twice"
                used.add(call.id)
                missing.append(call.id)
    return f"the history ends before the results of {', '.join(missing)}" if missing else None


def split_groups(messages: Sequence[Message]) -> list[list[Message]]:
    """The messages in the smallest pieces that may be cut apart: a call with its results is one piece.

    Results are put in the order of their calls; some APIs refuse another one.
    """
    groups: list[list[Message]] = []
    for message in messages:
        if isinstance(message, ToolMessage) and groups:
            groups[-1].append(message)
        else:
            groups.append([message])
    return [_in_call_order(group) for group in groups]


def join_groups(groups: Iterable[Iterable[Message]]) -> list[Message]:
    """The messages of the groups, in order."""
    return list(chain.from_iterable(groups))


def _in_call_order(group: list[Message]) -> list[Message]:
    head = group[0]
    if not isinstance(head, AssistantMessage):
        return group
    places = {call.id: place for place, call in enumerate(head.tool_calls)}
    results = [message for message in group[1:] if isinstance(message, ToolMessage)]
    return [head, *sorted(results, key=lambda message: places.get(message.result.tool_call_id, len(places)))]
