from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_engine.lossy import COLLAPSE_THRESHOLD, atoms, is_lossy_rewrite, similarity
from memory_engine.profile import Profile


@pytest.mark.parametrize(
    ("a", "b", "ts", "v1"),
    [
        ("file naming is kebab-case", "file naming should be kebab-case", 1.0, 1.0),
        ("port is 2291", "port is 2292", 0.5, 0.5),
        ("likes cheese pizza", "loves cheese pizza", 2 / 3, 2 / 3),
        ("Deploys happen on Friday", "Deploys never happen on Friday", 1.0, 0.79),
        ("User-provided URL: https://a.io/x", "User-provided URL: https://b.io/y", 1.0, 0.79),
        ("host is 10.0.0.1", "host is 10.0.1.0", 1.0, 0.79),
        ("不要部署", "不要部署", 0.0, 1.0),
        ("alpha bravo charlie delta echoes", "alpha bravo foxtrot golfing hotels", 0.4, 0.4),
        ("", "x", 0.0, 0.0),
        ("", "", 0.0, 0.0),
    ],
)
def test_similarity_follows_each_profile(a: str, b: str, ts: float, v1: float) -> None:
    assert similarity(a, b, Profile.TS) == pytest.approx(ts)
    assert similarity(a, b) == pytest.approx(v1)


def test_two_ids_of_one_thing_stay_apart() -> None:
    a, b = "staging build id is ZQ7X4M2K", "staging build id is PL8HN3XR"
    assert similarity(a, b, Profile.TS) == pytest.approx(0.667, abs=0.001)
    assert similarity(a, b) < COLLAPSE_THRESHOLD


def test_statements_without_distinctive_words_are_similar_when_equal() -> None:
    assert similarity("We do it", "we  do it") == 1.0


STAGING = "Always run migrations against staging"


@pytest.mark.parametrize(
    ("original", "replacement", "ts", "v1"),
    [
        (f"{STAGING}, never production", STAGING, True, True),
        (STAGING, f"{STAGING}, never production", False, False),
        ("The port is 2291", "The port is unknown", True, True),
        ("deploys use drizzle-kit", "deploy uses drizzle-kit", False, False),
        (
            "The staging build ID is ZQ7X4M2K",
            "The staging build ID is ZQ7X4M2K for the internal host",
            False,
            False,
        ),
        ("build 42 and 43", "build 42", True, True),
        ("Never force push to main", "Force push to main", False, True),
        ("Force push to main", "Never force push to main", False, True),
        ("Do not use npm", "Use npm", False, True),
        ("Use pnpm", "Use pnpm, not npm", False, False),
        ("Deploy only to EU", "Deploy to EU", False, True),
        ("Team A owns billing", "Team B owns billing", False, True),
        ("timeout is 100ms", "timeout is 100m", False, True),
        ("host is 10.0.0.1", "host is 10.0.1.0", False, True),
        ("due 2024-01-02", "due 2024-02-01", False, True),
        ("classes", "class", True, False),
        ("Don't deploy on Friday", "Don’t deploy on Friday", True, False),
        ("不要部署到生产环境", "部署到生产环境", False, True),
        ("部署到生产环境", "不要部署到生产环境", False, True),
        ("The port is 80", "the port is 80.", False, False),
    ],
)
def test_a_rewrite_is_lossy_in_each_profile(original: str, replacement: str, ts: bool, v1: bool) -> None:
    assert is_lossy_rewrite(original, replacement, Profile.TS) is ts
    assert is_lossy_rewrite(original, replacement) is v1


@pytest.mark.parametrize(
    ("original", "replacement"),
    [
        ("see https://a.io/x", "see https://a.io/xy"),
        ("не деплоить в прод", "деплоить в прод"),
        ("금지: 배포", "배포"),
        ("User requirement (never): force push", "User requirement (always): force push"),
        ("The package manager is npm", "The package manager is pip"),
        ("Call me Ren", "Call me Max"),
    ],
)
def test_v1_sees_what_else_a_rewrite_drops(original: str, replacement: str) -> None:
    assert is_lossy_rewrite(original, replacement)


def test_a_label_in_front_is_no_loss() -> None:
    assert not is_lossy_rewrite("User requirement (never): force push", "Never force push")


def test_atoms_are_whole_dotted_numbers() -> None:
    assert atoms("v1.2.3 on 10.0.0.1:80 since 2024-01-02, 7 times") == {"1.2.3", "10.0.0.1:80", "2024-01-02"}


SENTENCES = st.lists(
    st.sampled_from(
        [
            "deploy",
            "Friday",
            "not",
            "never",
            "host",
            "10.0.0.1",
            "ZQ7X4M2K",
            "only",
            "EU",
            "部署",
            "不要",
            ",",
            "but",
            "src/a.py",
        ]
    ),
    max_size=8,
).map(" ".join)


@given(st.one_of(SENTENCES, st.text(max_size=40)))
def test_a_statement_never_loses_anything_to_itself(statement: str) -> None:
    assert not is_lossy_rewrite(statement, statement)


@given(SENTENCES, st.sampled_from(["in Berlin", "as agreed", "since March"]))
def test_an_addition_in_a_clause_of_its_own_loses_nothing(statement: str, addition: str) -> None:
    assert not is_lossy_rewrite(statement, f"{statement} , {addition}")


@given(st.one_of(SENTENCES, st.text(max_size=30)), st.one_of(SENTENCES, st.text(max_size=30)))
def test_similarity_is_symmetric_and_at_most_one(a: str, b: str) -> None:
    assert similarity(a, b) == similarity(b, a)
    assert 0.0 <= similarity(a, b) <= 1.0
