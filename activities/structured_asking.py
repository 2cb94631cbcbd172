"""Asking for a structured answer in the way the server takes: by its own schema mode, by a tool, or by words alone."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from activities.asking import Prompt
from activities.chat_request import Dialect
from activities.completions import Completion
from activities.conversation import AssistantMessage, Message, UserMessage
from activities.json_values import clean_json, encoded_size
from activities.openapi.dialect import dialect_faults
from activities.requested_calls import Offer
from activities.structured_contracts import Enforcement, StructuredReading, StructuredReply
from activities.structured_reading import asked_schema, find_value

META = "structured"
FALLBACKS = 2
VALUE_BYTES = 8_000
INSTRUCTION = (
    "Your final answer is one JSON value that fits the JSON Schema below, and nothing else: no words around it and no code"
    " fence. If you have the tool {name}, give the answer by calling it. While you need other tools, call those first."
    "{description}\n\nJSON Schema of the answer:\n{schema}"
)


@dataclass(slots=True)
class StructuredAsk:
    """One request for the answer. `attempt` counts from 1 in a turn; `enforcement` is that of the last request made."""

    wanted: StructuredReply
    tool_name: str
    attempt: int = 1
    tools_allowed: bool = True
    enforcement: Enforcement = "provider_schema"

    @classmethod
    def of(
        cls, wanted: StructuredReply | None, rows: Sequence[Message], offer: Offer, *, tools_allowed: bool
    ) -> "StructuredAsk | None":
        """The next request of a turn with these rows; None for a turn that wants no such answer."""
        if wanted is None:
            return None
        name, taken = wanted.name, {each.casefold() for each in offer.names}
        while name.casefold() in taken:
            name = f"_{name}"[:64]
        return cls(wanted, name, 1 + sum(1 for row in rows if _is_invalid(row)), tools_allowed)

    @property
    def instruction(self) -> str:
        """What the model is told of it, however its server is asked."""
        described = f"\n{self.wanted.description}" if self.wanted.description else ""
        schema = json.dumps(asked_schema(self.wanted), ensure_ascii=False)
        return INSTRUCTION.format(name=self.tool_name, description=described, schema=schema)

    def asked_by(self, prompt: Prompt) -> Prompt:
        """The prompt, made to ask for the answer."""
        return replace(
            prompt,
            tools={},
            fields=lambda dialect: {**prompt.fields(dialect), **self.fields(dialect, prompt.tools)},
            # The answer may come as a call.
            calls_allowed=True,
            unwrap=self.unwrap,
            fallbacks=0 if self.wanted.enforcement else FALLBACKS,
        )

    def fields(self, dialect: Dialect, tools: dict[str, Any]) -> dict[str, Any]:
        """The part of the request that holds the model to the schema, with the turn's tools in it."""
        self.enforcement = self.wanted.enforcement or dialect.structured
        if self.enforcement == "prompt_only":
            return tools
        schema, about = asked_schema(self.wanted), self.wanted.description
        described = {"description": about} if about else {}
        if self.enforcement == "provider_schema":
            strict = not dialect_faults(schema, strict=True)
            named = {"name": self.wanted.name, **described, "schema": schema, "strict": strict}
            return {**tools, "response_format": {"type": "json_schema", "json_schema": named}}
        function = {"name": self.tool_name, **described, "parameters": schema}
        return {
            "tools": [*tools.get("tools", ()), {"type": "function", "function": function}],
            "tool_choice": self._choice(tools),
        }

    def _choice(self, tools: dict[str, Any]) -> Any:
        """Some tool has to be called, of which the answer is one; the answer itself where no other may be."""
        choice = tools.get("tool_choice", "auto")
        if "tools" not in tools or choice == "none":
            return {"type": "function", "function": {"name": self.tool_name}}
        return "required" if choice == "auto" else choice

    def unwrap(self, completion: Completion) -> Completion:
        """The completion with a call that is the answer turned into its text. Calls that were not allowed are left out."""
        is_offered = self.enforcement == "forced_tool"
        answers = [call for call in completion.calls if is_offered and call.name == self.tool_name]
        others = tuple(call for call in completion.calls if call not in answers) if self.tools_allowed else ()
        if others or not answers:
            return replace(completion, calls=others)
        given = answers[0].arguments
        text = given if isinstance(given, str) else json.dumps(clean_json(given or {}), ensure_ascii=False)
        return replace(completion, text=text, calls=())

    def read(self, completion: Completion) -> dict[str, Any]:
        """What the row of a reply keeps of this: nothing for one that calls tools, or ends the turn."""
        if completion.text is None or completion.calls or completion.error is not None:
            return {}
        issues = find_value(completion.text, self.wanted).issues
        if issues and completion.cut:
            issues = ("the answer was cut off at its output limit", *issues)
        is_last = self.wanted.on_exhausted == "return_invalid" and self.attempt > self.wanted.max_retries
        changed = any(note.stage == "output" and note.verdict == "sanitised" for note in completion.guardrails)
        kept = {
            "valid": not issues,
            "issues": list(issues),
            "enforcement": self.enforcement,
            "stage": "post_guardrail" if changed else "model",
            "attempt": self.attempt,
            "discarded": bool(issues) and not is_last,
        }
        return {META: kept}


def reading_of(message: AssistantMessage, wanted: StructuredReply | None) -> StructuredReading | None:
    """The reading of a stored reply."""
    kept = (message.meta or {}).get(META)
    if kept is None or wanted is None:
        return None
    value = find_value(message.content or "", wanted).value
    is_long = encoded_size(clean_json(value)) > VALUE_BYTES
    return StructuredReading.model_validate({**kept, "value": None if is_long else clean_json(value), "cut": is_long})


def with_issues(rows: Sequence[Message]) -> list[Message]:
    """The rows of a turn with each answer that did not fit followed by what was wrong, so that the model can mend it."""
    told: list[Message] = []
    for row in rows:
        told.append(row)
        if isinstance(row, AssistantMessage) and _is_invalid(row):
            told[-1] = AssistantMessage(content=row.content)
            issues = "\n".join(f"- {issue}" for issue in (row.meta or {})[META]["issues"])
            told.append(
                UserMessage(content=f"This answer does not fit its JSON Schema:\n{issues}\nAnswer again, corrected.")
            )
    return told


def _is_invalid(row: Message) -> bool:
    kept = (row.meta or {}).get(META) if isinstance(row, AssistantMessage) else None
    return kept is not None and not kept["valid"]
