from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_engine import (
    EVALUATION_SCHEMA,
    EXTRACTION_SCHEMA,
    VERDICTS_SCHEMA,
    ArbiterEvaluationResult,
    ExtractedMemory,
    ExtractionResult,
    MemoryReconciliation,
    ReconcileItem,
    parse_evaluation,
    parse_extraction,
    parse_verdicts,
)

ITEMS = [ReconcileItem(candidate=f"c{at}", remember=["x"], remember_ids=["m"], index=at) for at in range(3)]


def contents(answer: object) -> list[str]:
    result = parse_extraction(answer).result
    return [memory.content for memory in result.memories] if result else []


@pytest.mark.parametrize(
    ("answer", "kept", "problems"),
    [
        ('```json\n{"facts":["f1"]}\n```', ["f1"], 0),
        ('From the chat {about boats}: {"facts":["likes rowing"]}', ["likes rowing"], 0),
        ('{"facts":["a","b","c', ["a", "b"], 1),
        ("", [], 1),
        ('{"facts":[{"text":"x"},null,7]}', ["x"], 2),
        ('{"facts":["bad \\ud800 escape"]}', ["bad \ufffd escape"], 0),
        ('{"memories":"none"}', [], 1),
        ('{"memories":[]}\n{"facts":["b"]}', ["b"], 0),
        ('{"facts":["a"]}\n{"facts":["b"]}', ["a", "b"], 0),
        ("{'facts':['a', 'b',], 'sure': True}", ["a", "b"], 0),
        ('{"facts":[NaN,"a"]}', ["a"], 1),
        ('{"tensions":[],"facts":["a","b', ["a"], 1),
        ({"memories": [{"content": "y", "domains": ["a", 3]}]}, ["y"], 0),
        (["z"], ["z"], 0),
        (b'{"memories": [{"content": "w"}]}', ["w"], 0),
        (None, [], 1),
        (3.5, [], 1),
        ({"unrelated": 1}, [], 1),
    ],
)
def test_an_extraction_survives_how_models_write(answer: object, kept: list[str], problems: int) -> None:
    assert contents(answer) == kept
    assert len(parse_extraction(answer).problems) == problems


def test_a_finished_extraction_is_taken_as_it_is() -> None:
    result = ExtractionResult(memories=[ExtractedMemory(content="x")])
    assert parse_extraction(result).result is result


def test_an_endless_extraction_is_cut_and_says_so() -> None:
    read = parse_extraction({"memories": [f"fact {at}" for at in range(500)]})
    assert read.result is not None
    assert len(read.result.memories) == 64
    assert "500" in read.problems[0]


@pytest.mark.parametrize(
    ("answer", "actions"),
    [
        ('{"verdicts":[{"action":"merge"},{"action":"ADD "},{"action":"reject","reason":null}]}', "merge add reject"),
        ('[{"index":2,"action":"replace","targetIds":"m"}]', "replace"),
        ('{"action":"merge","content":7}', "merge"),
        ('[{"action":"merge"},{"action":"add"}]', "merge add"),
        ('{"verdicts":[{"action":"obliterate"},{"action":"merge"}]}', "add merge"),
        ('{"verdicts":[null,{"action":"merge"}]}', "add merge"),
        ('{"verdicts":[{"action":"merge"},{"action":"rep', "merge"),
        ("I would merge them.", ""),
        ([MemoryReconciliation(action="reject")], "reject"),
    ],
)
def test_verdicts_keep_their_places(answer: object, actions: str) -> None:
    read = parse_verdicts(answer, ITEMS)
    assert [verdict.action for verdict in read.verdicts] == actions.split()
    assert read.items == ITEMS


def test_an_evaluation_keeps_what_is_usable() -> None:
    read = parse_evaluation(
        {
            "promotions": [{"memoryId": "a", "urgency": 7}, {"urgency": 1}, None],
            "demotions": [{"memoryId": "b"}],
            "pins": "all",
            "detectedTensions": [{"claimA": "x"}],
            "trajectoryPrediction": {"predictedDomains": []},
            "selfModelUpdate": {"domain": "auth", "success": None},
        }
    )
    assert read.result is not None
    assert [(move.memory_id, move.urgency) for move in read.result.promotions] == [("a", 1.0)]
    assert [move.memory_id for move in read.result.demotions] == ["b"]
    assert (read.result.pins, read.result.detected_tensions, read.result.trajectory_prediction) == ([], [], None)
    assert len(read.problems) == 5


@pytest.mark.parametrize("answer", ["", "[]", "null", 4, "promote everything", {"x": 1}])
def test_no_evaluation_is_no_result(answer: object) -> None:
    read = parse_evaluation(answer)
    assert read.result is None
    assert read.problems


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["memories", "content", "verdicts", "action", "index", "promotions", "memoryId", "urgency", "pins"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(JSON | st.text() | st.binary())
def test_no_answer_raises(answer: Any) -> None:
    parse_extraction(answer)
    parse_verdicts(answer, ITEMS)
    parse_evaluation(answer)


def test_the_schemas_admit_what_the_parsers_read_without_loss() -> None:
    tension = {"claimA": "a", "claimB": "b", "impact": "low", "actionableQuestion": "?"}
    extraction = {"memories": [{"content": "x", "domains": []}], "tensions": [tension]}
    verdicts = {"verdicts": [{"index": 0, "action": "add", "content": None, "targetIds": [], "reason": None}]}
    evaluation = {
        "promotions": [{"memoryId": "a", "targetTier": "L1", "signalType": "recency", "urgency": 0.5}],
        "demotions": [{"memoryId": "a", "targetTier": "L2", "reason": ""}],
        "pins": [],
        "detectedTensions": [tension],
        "trajectoryPrediction": None,
        "selfModelUpdate": {"domain": "x", "success": None, "failurePatternObserved": None},
    }
    assert jsonschema_rs.is_valid(EXTRACTION_SCHEMA, extraction)
    assert jsonschema_rs.is_valid(VERDICTS_SCHEMA, verdicts)
    assert jsonschema_rs.is_valid(EVALUATION_SCHEMA, evaluation)
    assert parse_extraction(extraction).problems == []
    assert parse_verdicts(verdicts, ITEMS).problems == []
    read = parse_evaluation(evaluation)
    assert read.problems == []
    assert isinstance(read.result, ArbiterEvaluationResult)


@pytest.mark.parametrize("schema", [EXTRACTION_SCHEMA, VERDICTS_SCHEMA, EVALUATION_SCHEMA])
def test_every_object_of_a_schema_is_closed_and_complete(schema: dict[str, Any]) -> None:
    def check(node: Any) -> None:
        if isinstance(node, dict):
            if node.get("type") == "object":
                assert node["additionalProperties"] is False
                assert node["required"] == list(node["properties"])
            for member in node.values():
                check(member)
        elif isinstance(node, list):
            for member in node:
                check(member)

    check(schema)
