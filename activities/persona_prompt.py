"""The words a persona brings into a prompt: its base prompt in each of its forms, and what it adds in some situations. Pure."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import Field

from activities.wire import StrictWire

PROMPT_CHARS = 200_000
_PLACE = re.compile(r"\{\{\s*([A-Za-z_][\w.-]*)\s*\}\}")


class PromptTemplate(StrictWire):
    """A prompt in which `{{name}}` is filled in for each of its `variables`."""

    template: str = Field(max_length=PROMPT_CHARS)
    variables: tuple[str, ...] = Field(default=(), max_length=100)


class PromptFragment(StrictWire):
    """A part of a prompt. Parts stand in the order of their priorities, the lowest first."""

    content: str = Field(max_length=PROMPT_CHARS)
    priority: float = 0


BasePrompt = str | PromptTemplate | tuple[PromptFragment, ...]


class ContextualElement(StrictWire):
    """What is added to the prompt of a turn that meets all `criteria`.

    A criterion is a name and the value it must have, or a list of them: `userSkillLevel`, `language`, `taskDomain`,
    `taskComplexity`, from what the host says of user and task. One of another name is never met.
    """

    id: str = Field(min_length=1, max_length=200)
    type: str = Field(default="SYSTEM_INSTRUCTION_ADDON", max_length=100)
    content: str | dict[str, Any]
    criteria: dict[str, Any] = Field(default_factory=dict)
    priority: float = 0
    metadata: dict[str, Any] | None = None


def written(prompt: BasePrompt, values: Mapping[str, str]) -> str:
    """The prompt as text. A variable that nothing fills stays as it is."""
    if isinstance(prompt, str):
        return prompt
    if isinstance(prompt, PromptTemplate):
        known = {name: values[name] for name in prompt.variables if name in values}
        return _PLACE.sub(lambda place: known.get(place[1], place[0]), prompt.template)
    return "\n\n".join(part.content for part in sorted(prompt, key=lambda part: part.priority))


def unfilled(prompt: BasePrompt, values: Mapping[str, str]) -> list[str]:
    """The variables of a template that nothing fills."""
    return [name for name in prompt.variables if name not in values] if isinstance(prompt, PromptTemplate) else []


def additions(
    elements: Iterable[ContextualElement], user: Mapping[str, Any] | None, task: Mapping[str, Any] | None
) -> list[str]:
    """What elements add in the situation that the host tells of, in the order of their priorities."""
    facts = _facts(user or {}, task or {})
    met = [each for each in elements if all(_is_met(facts.get(name), asked) for name, asked in each.criteria.items())]
    return [_text(each.content) for each in sorted(met, key=lambda each: each.priority)]


def _facts(user: Mapping[str, Any], task: Mapping[str, Any]) -> dict[str, Any]:
    preferences = user.get("preferences")
    language = user.get("language") or (preferences.get("language") if isinstance(preferences, Mapping) else None)
    return {
        "userSkillLevel": user.get("skillLevel"),
        "language": language,
        "taskDomain": task.get("domain"),
        "taskComplexity": task.get("complexity"),
    }


def _is_met(fact: Any, asked: Any) -> bool:
    return fact is not None and (fact in asked if isinstance(asked, list) else fact == asked)


def _text(content: str | dict[str, Any]) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
