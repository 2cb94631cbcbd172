"""The parts of a streamed completion, put together to the body that an unstreamed one would have. Pure.

Providers number parallel calls 0, 0, 0, not at all, or from 1; they send an id once, every time, or never. So a call begins
where an id or a name shows that it cannot be the one before, and a number only says which call goes on.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from activities.completion_media import transcript_of
from activities.completions import content_text
from activities.provider_errors import ProviderFault, fault_of_body
from activities.streaming_media import StreamedMedia


@dataclass(slots=True)
class _Call:
    """A call as far as it has come. `whole` is set when its arguments came as a value instead of text."""

    provider_id: str | None = None
    name: str = ""
    text: list[str] = field(default_factory=list)
    whole: Any = None

    @property
    def has_arguments(self) -> bool:
        return self.whole is not None or any(self.text)

    @property
    def is_complete(self) -> bool:
        if self.whole is not None:
            return True
        try:
            json.loads("".join(self.text))
        except (ValueError, RecursionError):
            return False
        return True

    def is_repeated_by(self, provider_id: str | None, function: dict[str, Any]) -> bool:
        """Whether a part says the whole call again, as some servers end with: run twice, it would do its work twice."""
        if not provider_id or (provider_id, function.get("name")) != (self.provider_id, self.name):
            return False
        again = function.get("arguments")
        # The first letter spares most pieces the look at all that came before.
        return isinstance(again, str) and again[:1] == "{" and again == "".join(self.text) and self.is_complete

    def body(self) -> dict[str, Any]:
        arguments = self.whole if self.whole is not None else "".join(self.text) if self.text else None
        return {"id": self.provider_id, "type": "function", "function": {"name": self.name, "arguments": arguments}}


@dataclass(slots=True)
class Assembly:
    """One completion under way. `length` counts the characters of its text and arguments."""

    finish_reason: str | None = None
    length: int = 0
    _model: str | None = None
    _usage: dict[str, Any] | None = None
    _text: list[str] = field(default_factory=list)
    _refusal: list[str] = field(default_factory=list)
    _calls: list[_Call] = field(default_factory=list)
    _by_index: dict[int, _Call] = field(default_factory=dict)
    _legacy: _Call | None = None
    _media: StreamedMedia = field(default_factory=StreamedMedia)

    @property
    def finished(self) -> bool:
        """Whether the model said why it stopped; usage may still follow."""
        return self.finish_reason is not None

    def take(self, chunk: Any) -> str:
        """Add one decoded chunk; gives the text that is new in it.

        Raises:
            ProviderFault: the chunk reports an error.
        """
        if not isinstance(chunk, dict):
            return ""
        if fault := fault_of_body(chunk, 200):
            raise fault
        self._model = self._model or _text(chunk.get("model"))
        self._take_usage(chunk)
        return "".join([self._take_choice(choice) for choice in _first_choices(chunk.get("choices"))])

    def body(self) -> dict[str, Any]:
        """The body of an unstreamed answer that says the same."""
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self._text) or None}
        if self._refusal:
            message["refusal"] = "".join(self._refusal)
        if self._calls:
            message["tool_calls"] = [call.body() for call in self._calls]
        elif self._legacy is not None:
            message["function_call"] = self._legacy.body()["function"]
        message |= self._media.fields()
        choice = {"index": 0, "message": message, "finish_reason": self.finish_reason}
        return {"model": self._model, "choices": [choice], "usage": self._usage}

    def _take_usage(self, holder: dict[str, Any]) -> None:
        usage = holder.get("usage")
        if isinstance(usage, dict):
            self._usage = usage

    def _take_choice(self, choice: dict[str, Any]) -> str:
        # Some servers count in the choice.
        self._take_usage(choice)
        finish = _text(choice.get("finish_reason"))
        if finish == "error" or choice.get("error"):
            raise fault_of_body(choice, 200) or ProviderFault("the provider broke off with finish reason error")
        self.finish_reason = finish or self.finish_reason
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            delta = self._new_in(choice.get("message"))
        return self._take_delta(delta)

    def _new_in(self, message: Any) -> dict[str, Any]:
        """What has not come yet of a whole message, which some servers send instead of pieces or after them."""
        if not isinstance(message, dict) or self._calls:
            return {}
        return {"tool_calls": message.get("tool_calls")} if self._text else message

    def _take_delta(self, delta: dict[str, Any]) -> str:
        text = content_text(delta.get("content"))
        if text:
            self._text.append(text)
            self.length += len(text)
        if refusal := _text(delta.get("refusal")):
            self._refusal.append(refusal)
            self.length += len(refusal)
        self.length += self._media.take(delta)
        entries = delta.get("tool_calls")
        for entry in [entries] if isinstance(entries, dict) else entries if isinstance(entries, list) else ():
            if isinstance(entry, dict):
                self._take_call(entry)
        legacy = delta.get("function_call")
        if isinstance(legacy, dict):
            self._legacy = self._legacy or _Call()
            self.length += _extend(self._legacy, legacy)
        # What sound says is the text of a reply that has no other.
        return text if self._text else transcript_of(delta)

    def _take_call(self, entry: dict[str, Any]) -> None:
        found = entry.get("function")
        function = found if isinstance(found, dict) else entry
        provider_id, name, index = _text(entry.get("id")), _text(function.get("name")), _index(entry)
        call = self._by_index.get(index) if index is not None else self._latest(provider_id)
        if call is not None and call.is_repeated_by(provider_id, function):
            return
        if call is None or _begins_another(call, provider_id, function, numbered=index is not None):
            if not provider_id and not name and not function.get("arguments"):
                return
            call = _Call()
            self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        call.provider_id = call.provider_id or provider_id
        self.length += _extend(call, function)

    def _latest(self, provider_id: str | None) -> _Call | None:
        """The call that a part without a number goes on with: the last of its id, else the last of all."""
        same = [call for call in self._calls if provider_id and call.provider_id == provider_id]
        calls = same or self._calls
        return calls[-1] if calls else None


def _begins_another(call: _Call, provider_id: str | None, function: dict[str, Any], *, numbered: bool) -> bool:
    """Whether this part cannot belong to the call that it would go on with.

    In doubt it goes on: arguments of two calls in one are an error that the model can mend, a call without its arguments runs.
    """
    name = _text(function.get("name"))
    if provider_id and call.provider_id and provider_id != call.provider_id:
        # Some servers make a new id for every part: a nameless rest of what is not complete goes on all the same.
        return bool(name) or call.is_complete or not function.get("arguments")
    if not name or not call.name:
        return False
    if call.has_arguments:
        brings_more = bool(function.get("arguments")) and not str(function["arguments"]).isspace()
        return name != call.name or bool(provider_id and not call.provider_id) or (brings_more and call.is_complete)
    # Without arguments so far: a name in pieces where a number or id holds them together, else a call without arguments.
    return name != call.name and not (numbered or provider_id)


def _extend(call: _Call, function: dict[str, Any]) -> int:
    """Add a part of a call; its length."""
    name, arguments = _text(function.get("name")), function.get("arguments")
    if name and name != call.name:
        call.name += name
    if isinstance(arguments, str):
        call.text.append(arguments)
    elif arguments is not None:
        call.whole = arguments
    return len(name or "") + (len(arguments) if isinstance(arguments, str) else 0)


def _first_choices(choices: Any) -> list[dict[str, Any]]:
    """What belongs to the first choice, in as many parts as there are: of several that were not asked for, the others are not
    read. Only a number says that parts belong together.
    """
    given = [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
    return [choice for choice in given if choice.get("index") == 0] or [
        choice for choice in given if choice.get("index") is None
    ][:1]


def _index(entry: dict[str, Any]) -> int | None:
    index = entry.get("index")
    return index if isinstance(index, int) and not isinstance(index, bool) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
