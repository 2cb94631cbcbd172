"""Settings: what cannot be used is replaced, and told."""

import pytest

from tests.worker.memory_service.calls import running, settings_for
from worker.memory_service.settings import ServiceSettings, load_service_settings


def test_nothing_set_is_the_defaults() -> None:
    settings = load_service_settings({})
    assert settings == ServiceSettings(settings.database_url)
    assert (settings.max_total_tokens, settings.max_index_items, settings.default_recall_limit) == (2000, 60, 8)


@pytest.mark.parametrize("given", ["-5", "0", "many", "1e3", "٣", "9" * 5_000, "2.5"])
def test_a_limit_that_cannot_be_used_is_told_and_not_repeated(given: str) -> None:
    settings = load_service_settings({"TURNHOLD_MAX_TOTAL_TOKENS": given})
    assert settings.max_total_tokens == 2000
    assert len(settings.problems) == 1
    assert settings.problems[0].startswith("TURNHOLD_MAX_TOTAL_TOKENS is not a whole number")


def test_what_can_be_used_is_used() -> None:
    settings = load_service_settings(
        {
            "TURNHOLD_MAX_INDEX_ITEMS": " 12 ",
            "TURNHOLD_DEFAULT_RECALL_LIMIT": "3",
            "TURNHOLD_ENV": "prod",
            "TURNHOLD_ADMIN_TOKEN": "a-token-that-is-long-enough",
            "TURNHOLD_MEMORY_CORS_ORIGINS": "https://one.example, https://two.example",
            "TURNHOLD_MEMORY_RATE": "",
        }
    )
    assert (settings.max_index_items, settings.default_recall_limit, settings.environment) == (12, 3, "prod")
    assert settings.cors_origins == ("https://one.example", "https://two.example")
    assert settings.problems == ()
    assert "long-enough" not in repr(settings)


def test_a_short_admin_token_is_not_used() -> None:
    settings = load_service_settings({"TURNHOLD_ADMIN_TOKEN": "short", "TURNHOLD_ENV": "Prod!"})
    assert settings.admin_token is None
    assert settings.environment == "dev"
    assert len(settings.problems) == 2
    assert "short" not in str(settings.problems[0].split("has")[0])


async def test_health_tells_the_problems_and_the_limits(database_url: str) -> None:
    settings = settings_for(database_url, problems=("TURNHOLD_X is odd",), max_index_items=7)
    async with running(settings) as service:
        told = (await service.http.get("/api/v1/health")).json()
        assert told["problems"] == ["TURNHOLD_X is odd"]
        assert told["limits"]["maxIndexItems"] == 7


async def test_other_origins_get_in_only_where_they_are_named(database_url: str) -> None:
    asked = {"origin": "https://app.example", "access-control-request-method": "POST"}
    async with running(settings_for(database_url)) as closed:
        answer = await closed.http.options("/api/v1/recall", headers=asked)
        assert "access-control-allow-origin" not in answer.headers
    async with running(settings_for(database_url, cors_origins=("https://app.example",))) as opened:
        answer = await opened.http.options("/api/v1/recall", headers=asked)
        assert answer.headers["access-control-allow-origin"] == "https://app.example"
        refusal = await opened.http.post("/api/v1/recall", headers={"origin": "https://app.example"})
        assert (refusal.status_code, refusal.headers["access-control-allow-origin"]) == (401, "https://app.example")
        other = await opened.http.options("/api/v1/recall", headers={**asked, "origin": "https://evil.example"})
        assert "access-control-allow-origin" not in other.headers
