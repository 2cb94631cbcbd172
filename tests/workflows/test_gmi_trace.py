"""The reasoning trace of an instance, and its bounds."""

from datetime import UTC, datetime

from activities.json_values import encoded_size
from activities.persona_character import TraceLimits
from activities.personas import Persona
from workflows.gmi_contracts import InstanceConfig, TraceEntry
from workflows.gmi_trace import Limits, forget_turns, limits_of, note

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def limits(persona: TraceLimits | None = None, **config: object) -> Limits:
    own = Persona(id="p", reasoning_trace_config=persona)
    return limits_of(own, InstanceConfig.model_validate(config))


def test_the_personas_limits_win_over_the_configs_and_those_over_the_defaults() -> None:
    assert limits() == Limits(500, 1_000)
    assert limits(defaultReasoningTraceMaxEntries=7, defaultReasoningTraceMaxMessageLength=9) == Limits(7, 9)
    both = limits(TraceLimits(max_entries=3), defaultReasoningTraceMaxEntries=7)
    assert (both.entries, both.chars) == (3, 1_000)


def test_what_is_no_positive_integer_is_ignored_and_named() -> None:
    for wrong in (0, -1, 1.5, "7", True):
        found = limits(TraceLimits(max_entries=wrong))
        assert (found.entries, found.ignored) == (500, ("reasoningTraceConfig.maxEntries",))


def test_limits_have_limits() -> None:
    assert limits(TraceLimits(max_entries=10**9, max_message_length=10**9)) == Limits(10_000, 100_000)


def test_the_oldest_entries_give_way() -> None:
    trace: list[TraceEntry] = []
    for number in range(10):
        note(trace, Limits(3, 4), "DEBUG", f"entry {number}", NOW)

    assert [entry.message for entry in trace] == ["entr"] * 3
    assert len(trace) == 3


def test_it_never_takes_more_than_a_quarter_of_a_megabyte() -> None:
    trace: list[TraceEntry] = []
    for number in range(60):
        note(trace, Limits(10_000, 100_000), "DEBUG", f"{number}" + "x" * 20_000, NOW)

    assert encoded_size(trace) <= 256_000
    assert trace[-1].message.startswith("59")


def test_details_are_copied_as_json_and_cut() -> None:
    trace: list[TraceEntry] = []
    note(trace, Limits(9, 9), "DEBUG", "\ud83d", NOW, {"when": NOW, "half": "\ud83d"})
    note(trace, Limits(9, 9), "DEBUG", "long", NOW, {"text": "x" * 50_000})

    assert trace[0].details == {"when": NOW.isoformat(), "half": "\ufffd"}
    assert trace[0].message == "\ufffd"
    assert trace[1].details["cut"] is True


def test_a_forgotten_turn_keeps_that_it_ran() -> None:
    trace: list[TraceEntry] = []
    for turn_id in ("t1", "t2", None):
        note(trace, Limits(9, 9), "DEBUG", "x", NOW, {"a": 1}, turn_id)

    forget_turns(trace, {"t2": "digest"})

    assert [entry.details for entry in trace] == [None, {"a": 1}, {"a": 1}]
