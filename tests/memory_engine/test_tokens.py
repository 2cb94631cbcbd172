from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_engine.inflection import fold_plural, stem
from memory_engine.profile import Profile
from memory_engine.tokens import distinctive_tokens, overlap_score, relevance_tokens


def words(listed: str) -> set[str]:
    return set(listed.split())


@pytest.mark.parametrize(
    ("value", "ts", "v1"),
    [
        ("the staging build is for our project", "staging build project", "staging build project"),
        ("a b c db up", "", ""),
        ("Which DB do we use?", "", "db"),
        ("where do we deploy", "where deploy", "where deploy"),
        ("user's API_KEY=abc123", "user api key abc123", "users api key abc123"),
        ("café münchen", "caf nchen", "cafe munchen"),
        ("port 80", "port", "port 80"),
        ("部署端口是 8080", "8080", "部署 署端 端口 口是 8080"),
        ("Привет мир порт", "", "привет мир порт"),
        ("스테이징 서버 포트", "", "스테이징 스테 테이 이징 서버 포트"),
        ("", "", ""),
    ],
)
def test_relevance_tokens_follow_each_profile(value: str, ts: str, v1: str) -> None:
    assert relevance_tokens(value, Profile.TS) == words(ts)
    assert relevance_tokens(value) == words(v1)


@pytest.mark.parametrize("value", ["user’s host", "userʼs host"])
def test_curly_apostrophes_do_not_split_a_word(value: str) -> None:
    assert relevance_tokens(value) == {"users", "host"}


def test_a_word_keeps_its_combining_marks() -> None:
    assert "हिन्दी" in relevance_tokens("हिन्दी में")


def test_cyrillic_letters_keep_their_breve() -> None:
    assert relevance_tokens("чай") == {"чай"}


@pytest.mark.parametrize(
    ("query", "candidate", "expected"),
    [
        ({"staging"}, {"staging", "build", "zq7x4m2k"}, 1.0),
        (set(), {"a"}, 0.0),
        ({"a"}, set(), 0.0),
        ({"a", "b"}, {"b", "c"}, 0.5),
        ({"a", "b", "c", "d"}, {"a", "b"}, 1.0),
        ({"a", "b", "c"}, {"d", "e"}, 0.0),
    ],
)
def test_overlap_is_the_share_of_the_smaller_set(query: set[str], candidate: set[str], expected: float) -> None:
    assert overlap_score(query, candidate) == expected


@pytest.mark.parametrize("profile", list(Profile))
def test_a_query_contained_in_a_statement_overlaps_fully(profile: Profile) -> None:
    query = relevance_tokens("staging build id", profile)
    assert overlap_score(query, relevance_tokens("The staging build id is ZQ7X4M2K deployment", profile)) == 1.0


@given(st.sets(st.text(max_size=3)), st.sets(st.text(max_size=3)))
def test_overlap_is_symmetric_and_at_most_one(first: set[str], second: set[str]) -> None:
    score = overlap_score(first, second)
    assert score == overlap_score(second, first)
    assert 0.0 <= score <= 1.0


@pytest.mark.parametrize(
    ("value", "ts", "v1"),
    [
        (
            "Always run migrations against staging, never production",
            "migrations against staging production",
            "migration against staging production",
        ),
        ("The staging build ID is ZQ7X4M2K", "staging build zq7x4m2k", "staging build zq7x4m2k id"),
        ("port 80 on s3", "port 80 s3", "port 80 s3"),
        ("The file name is project repository", "", ""),
        ("Don't deploy to EU", "dont deploy", "deploy eu"),
        ("Don’t deploy to EU", "deploy", "deploy eu"),
        ("v1.2.3", "v1 2 3", "v1 2 3"),
        ("Deploy only to EU", "deploy", "deploy only eu"),
        ("Plan A", "plan", "plan a"),
        ("不要部署到生产环境", "", "不要 要部 部署 署到 到生 生产 产环 环境"),
        ("User requirement (never): force push to main", "user requirement force push main", "force push main"),
    ],
)
def test_distinctive_tokens_follow_each_profile(value: str, ts: str, v1: str) -> None:
    assert distinctive_tokens(value, Profile.TS) == words(ts)
    assert distinctive_tokens(value) == words(v1)


@pytest.mark.parametrize(
    ("plural", "ts", "v1"),
    [
        ("classes", "classe", "class"),
        ("class", "clas", "class"),
        ("policies", "policie", "policy"),
        ("boxes", "boxe", "box"),
        ("status", "statu", "status"),
        ("100ms", "100m", "100ms"),
        ("uses", "use", "use"),
        ("bus", "bus", "bus"),
    ],
)
def test_plurals_fold_without_touching_units(plural: str, ts: str, v1: str) -> None:
    assert fold_plural(plural, Profile.TS) == ts
    assert fold_plural(plural) == v1


@pytest.mark.parametrize(
    "family", ["deploy deploys deployed deploying", "cache caches cached caching", "plan plans planned"]
)
def test_one_stem_stands_for_a_family_of_words(family: str) -> None:
    assert len({stem(word) for word in family.split()}) == 1


@pytest.mark.parametrize("token", ["zq7x4m2k", "red", "sing", "部署", "8080ing"])
def test_a_stem_leaves_names_and_short_words_alone(token: str) -> None:
    assert stem(token) == token
