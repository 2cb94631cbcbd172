"""More functions than one question may be about: groups, and what becomes of their choices."""

from typing import Any

from tests.support import Harness
from tests.worker.nestia.agents import DIRECT, agent_of, choose, kinds, sources
from worker.app import ClassController
from worker.demo_script import Saying

CAPACITY: dict[str, Any] = {**DIRECT, "capacity": 4}


class Nine:
    """Nine methods that give their number."""

    def f1(self) -> int:
        """One."""
        return 1

    def f2(self) -> int:
        """Two."""
        return 2

    def f3(self) -> int:
        """Three."""
        return 3

    def f4(self) -> int:
        """Four."""
        return 4

    def f5(self) -> int:
        """Five."""
        return 5

    def f6(self) -> int:
        """Six."""
        return 6

    def f7(self) -> int:
        """Seven."""
        return 7

    def f8(self) -> int:
        """Eight."""
        return 8

    def f9(self) -> int:
        """Nine."""
        return 9


def nine(name: str = "nine") -> ClassController:
    return ClassController(name=name, instance=Nine())


def by_list(chosen: dict[str, str]) -> Any:
    """A model that selects of each listed group what is asked for, and calls whatever it is offered."""

    def answer(request: dict[str, Any]) -> Any:
        names = [each["function"]["name"] for each in request.get("tools", [])]
        if request.get("tool_choice") == "none":
            return "Done."
        if names == ["selectFunctions"]:
            listed = str(request["messages"][2]["content"])
            wanted = [name for name in chosen if f'"{name}"' in listed]
            return _calls(choose(*wanted)) if wanted else "Nothing here."
        calls: list[tuple[str, Any]] = [(name, {}) for name in names if name != "search_memory"]
        return _calls(calls) if calls else "I cannot do that."

    return answer


def _calls(calls: list[tuple[str, Any]]) -> Saying:
    return Saying(None, tuple(calls))


async def test_the_winners_of_the_groups_are_asked_about_once_more(harness: Harness) -> None:
    harness.model.handler = by_list({"f1": "", "f9": ""})
    async with agent_of(harness, nine(), config=CAPACITY) as agent:
        prompts = await agent.conversate("One and nine")

        assert sources(harness) == ["select"] * 4 + ["execute", "describe"]
        groups = sorted(str(each["messages"][2]["content"]).count('"name"') for each in harness.model.requests[:4])
        assert groups == [2, 3, 3, 3]
        assert kinds(prompts) == ["text", "select", "execute", "cancel", "execute", "cancel", "describe"]
        assert [each["name"] for each in prompts[1]["operations"]] == ["f1", "f9"]


async def test_without_elitism_every_choice_of_a_group_counts_and_is_one_entry(harness: Harness) -> None:
    harness.model.handler = by_list({"f1": "", "f9": ""})
    async with agent_of(harness, nine(), config={**CAPACITY, "eliticism": False}) as agent:
        prompts = await agent.conversate("One and nine")

        assert sources(harness) == ["select"] * 3 + ["execute", "describe"]
        assert kinds(prompts) == ["text", "select", "execute", "cancel", "execute", "cancel", "describe"]
        assert [each["name"] for each in prompts[1]["operations"]] == ["f1", "f9"]
        assert [each["value"] for each in prompts if each["type"] == "execute"] == [1, 9]


async def test_groups_that_choose_nothing_end_in_words(harness: Harness) -> None:
    harness.model.handler = by_list({})
    async with agent_of(harness, nine(), config=CAPACITY) as agent:
        prompts = await agent.conversate("Ten")

        assert kinds(prompts) == ["text", "text"]
        assert prompts[-1]["text"] == "I cannot do that."


async def test_division_and_colliding_names_go_together(harness: Harness) -> None:
    harness.model.handler = by_list({"a_f1": "", "b_f9": ""})
    async with agent_of(harness, nine("a"), nine("b"), config=CAPACITY) as agent:
        prompts = await agent.conversate("One of a, nine of b")

        assert sources(harness).count("select") == 6
        operations = [(each["controller"], each["function"]) for each in prompts[1]["operations"]]
        assert operations == [("a", "f1"), ("b", "f9")]


async def test_no_division_without_a_capacity(harness: Harness) -> None:
    harness.model.handler = by_list({"f5": ""})
    async with agent_of(harness, nine(), config={**DIRECT, "capacity": 0}) as agent:
        await agent.conversate("Five")

        assert sources(harness) == ["select", "execute", "describe"]
