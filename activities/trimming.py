"""Making a conversation fit: earlier turns are left out at round boundaries, and tool results too long are shortened.

A call and its results are never parted, and what is kept begins with what a user said.
"""

from collections.abc import Callable, Iterable, Sequence

from activities.conversation import (
    AssistantMessage,
    ImagePart,
    Message,
    TextPart,
    ToolCallResult,
    ToolMessage,
    UserMessage,
)
from activities.pairing import join_groups, split_groups
from activities.tool_text import tool_text

BYTES_PER_TOKEN = 4
# A message's own overhead, and what a picture costs at common providers whatever its size in bytes.
MESSAGE_TOKENS = 4
IMAGE_TOKENS = 1_000
# No result of an earlier turn takes more than this part of what all earlier turns may take.
RESULT_SHARE = 4
# A result is not shortened below this: less would tell the model nothing.
SHORTEST_RESULT = 400


def estimate_tokens(message: Message) -> int:
    """Roughly the tokens of a message: a token for four bytes of UTF-8, which holds for English and errs high for the rest."""
    match message:
        case UserMessage(content=str() as text):
            size = _tokens(text)
        case UserMessage(content=parts):
            size = sum(_tokens(part.text) if isinstance(part, TextPart) else _media_tokens(part) for part in parts)
        case AssistantMessage():
            calls = sum(_tokens(call.name) + _tokens(str(call.arguments)) for call in message.tool_calls)
            size = _tokens(message.content or "") + calls
        case ToolMessage():
            size = _tokens(tool_text(message.result))
    return size + MESSAGE_TOKENS


def trim_history(turns: Iterable[Sequence[Message]], budget: int, most: int | None = None) -> list[Message]:
    """The newest of the earlier turns that fit in `budget` tokens, and in `most` messages, oldest first.

    A turn that fits only in part keeps its user message and its last rounds.
    """
    kept: list[list[Message]] = []
    for turn in reversed(_turns(turns)):
        groups = [[_shortened(message, budget // RESULT_SHARE) for message in group] for group in split_groups(turn)]
        fitting = _newest_rounds(groups, budget, _group_tokens)
        if fitting and most is not None:
            fitting = _newest_rounds(fitting, most, len)
            most -= sum(map(len, fitting))
        if not fitting:
            break
        kept.append(join_groups(fitting))
        budget -= sum(map(_group_tokens, fitting))
        if len(fitting) < len(groups):
            break
    return join_groups(reversed(kept))


def fit_turn(turn: Sequence[Message], budget: int) -> list[Message]:
    """The messages of the running turn, all of them, with its longest tool results shortened when they exceed `budget`."""
    messages = join_groups(split_groups(turn))
    sizes = [estimate_tokens(message) for message in messages]
    results = sorted(size for message, size in zip(messages, sizes, strict=True) if isinstance(message, ToolMessage))
    if sum(sizes) <= budget or not results:
        return messages
    limit = _level(results, budget - (sum(sizes) - sum(results)))
    return [_shortened(message, limit) for message in messages]


def _turns(turns: Iterable[Sequence[Message]]) -> list[list[Message]]:
    """The same messages, each turn beginning with its user message; what stands before the first is dropped."""
    split: list[list[Message]] = []
    for message in join_groups(turns):
        if isinstance(message, UserMessage):
            split.append([message])
        elif split:
            split[-1].append(message)
    return split


def _newest_rounds(
    groups: list[list[Message]], budget: int, cost: Callable[[Sequence[Message]], int]
) -> list[list[Message]]:
    head, *rounds = groups
    budget -= cost(head)
    kept: list[list[Message]] = []
    for group in reversed(rounds):
        budget -= cost(group)
        if budget < 0:
            break
        kept.append(group)
    return [head, *reversed(kept)] if budget >= 0 or kept else []


def _level(results: list[int], budget: int) -> int:
    """The size to which the longest of `results` (sorted) must be cut for all of them to fit."""
    for place, size in enumerate(results):
        share = budget // (len(results) - place)
        if size > share:
            return share
        budget -= size
    return results[-1]


def _shortened(message: Message, limit: int) -> Message:
    if not isinstance(message, ToolMessage):
        return message
    result = message.result
    text = tool_text(result)
    limit = max(limit * BYTES_PER_TOKEN, SHORTEST_RESULT)
    if len(text.encode()) <= limit:
        return message
    short = ToolCallResult(
        tool_call_id=result.tool_call_id, tool_name=result.tool_name, output=_middle_left_out(text, limit)
    )
    return ToolMessage(result=short)


def _middle_left_out(text: str, limit: int) -> str:
    encoded = text.encode()
    head = encoded[: limit * 2 // 3].decode("utf-8", "ignore")
    tail = encoded[-(limit // 4) :].decode("utf-8", "ignore")
    return f"{head}\n[… {len(text) - len(head) - len(tail)} characters left out …]\n{tail}"


def _group_tokens(group: Sequence[Message]) -> int:
    return sum(map(estimate_tokens, group))


def _media_tokens(part: object) -> int:
    return IMAGE_TOKENS if isinstance(part, ImagePart) else 2 * IMAGE_TOKENS


def _tokens(text: str) -> int:
    return len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN
