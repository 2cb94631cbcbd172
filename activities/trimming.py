"""Making a conversation fit: earlier turns are left out at round boundaries, and tool results too long are shortened.

A call and its results are never parted, and what is kept begins with what a user said.
"""

from collections.abc import Iterable, Iterator, Sequence

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
    """Of earlier turns, given with the newest first, what fits in `budget` tokens and in `most` messages, oldest first.

    A turn that fits only in part keeps its user message and its last rounds. Turns behind it are not taken from `turns`.
    """
    kept: list[list[Message]] = []
    for turn in _newest_first(turns):
        sized = [[_sized(message, budget // RESULT_SHARE) for message in group] for group in split_groups(turn)]
        groups = [[message for message, _ in group] for group in sized]
        costs = [sum(tokens for _, tokens in group) for group in sized]
        fitting = _newest_rounds(costs, budget)
        if fitting and most is not None:
            sizes = [len(groups[at]) for at in fitting]
            fitting = [fitting[at] for at in _newest_rounds(sizes, most)]
            most -= sum(len(groups[at]) for at in fitting)
        if not fitting:
            break
        kept.append(join_groups(groups[at] for at in fitting))
        budget -= sum(costs[at] for at in fitting)
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
    return [_sized(message, limit)[0] for message in messages]


def _newest_first(turns: Iterable[Sequence[Message]]) -> Iterator[list[Message]]:
    """The same messages, each turn beginning with its user message; what stands before the first of all is dropped."""
    headless: list[Message] = []
    for turn in turns:
        messages = [*turn, *headless]
        starts = [at for at, message in enumerate(turn) if isinstance(message, UserMessage)]
        end = len(messages)
        for start in reversed(starts):
            yield messages[start:end]
            end = start
        headless = messages[:end]


def _newest_rounds(costs: Sequence[int], budget: int) -> list[int]:
    """The places of the first, which is what the user said, and of the last ones that fit with it; none if none does."""
    first, *rounds = costs
    left = budget - first
    start = len(costs)
    for cost in reversed(rounds):
        left -= cost
        if left < 0:
            break
        start -= 1
    return [0, *range(start, len(costs))] if left >= 0 or start < len(costs) else []


def _level(results: list[int], budget: int) -> int:
    """The size to which the longest of `results` (sorted) must be cut for all of them to fit."""
    for place, size in enumerate(results):
        share = budget // (len(results) - place)
        if size > share:
            return share
        budget -= size
    return results[-1]


def _sized(message: Message, limit: int) -> tuple[Message, int]:
    """The message, shortened to `limit` tokens if it is a result longer than that, with what it costs."""
    if not isinstance(message, ToolMessage):
        return message, estimate_tokens(message)
    text = tool_text(message.result)
    short = _shortened(message, text, limit)
    return short, _tokens(text) + MESSAGE_TOKENS if short is message else estimate_tokens(short)


def _shortened(message: ToolMessage, text: str, limit: int) -> ToolMessage:
    limit = max(limit * BYTES_PER_TOKEN, SHORTEST_RESULT)
    if len(text.encode()) <= limit:
        return message
    result = message.result
    short = ToolCallResult(
        tool_call_id=result.tool_call_id, tool_name=result.tool_name, output=_middle_left_out(text, limit)
    )
    return ToolMessage(result=short)


def _middle_left_out(text: str, limit: int) -> str:
    encoded = text.encode()
    head = encoded[: limit * 2 // 3].decode("utf-8", "ignore")
    tail = encoded[-(limit // 4) :].decode("utf-8", "ignore")
    return f"{head}\n[… {len(text) - len(head) - len(tail)} characters left out …]\n{tail}"


def _media_tokens(part: object) -> int:
    return IMAGE_TOKENS if isinstance(part, ImagePart) else 2 * IMAGE_TOKENS


def _tokens(text: str) -> int:
    return len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN
