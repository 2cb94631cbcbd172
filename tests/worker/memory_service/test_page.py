"""The page for people, as a browser shows it and as other programs might misuse it."""

import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Page, expect

from tests.browser import WINDOW_WIDTH, browsing, missing_chromium
from tests.worker.memory_service.calls import ADMIN, Caller, Running

DOCS = Path(__file__).resolve().parents[3] / "docs"
SCREENSHOT_BYTES = 200_000
EVERYTHING = ["memories:read", "memories:write", "stats:read", "keys:manage"]
CLAIMS = {
    "claimA": "Deploys to production run at noon",
    "claimB": "Deploys to production run at night",
    "impact": "critical",
    "actionableQuestion": "When do deploys to production run?",
}
HOSTILE = "Our <b>staging</b> host is <script>document.title='broken'</script> blue-7"


async def filled(at: Running, **wanted: Any) -> Caller:
    """Somebody whose memory has something of everything."""
    caller = await at.caller("harbour", userId="ren", personaId="support", scopes=EVERYTHING, **wanted)
    await caller.remember(
        "The build id of release nine is ZQ7X4M2K",
        "Our staging host is blue-7",
        "Invoices are sent on the first Monday of a month",
        HOSTILE,
    )
    await caller.post("/turns", {"userMessage": "Never deploy on Fridays.", "assistantResponse": "Noted."})
    await caller.post("/tensions", CLAIMS)
    failure = {"domain": "database", "success": False, "failurePattern": "forgot the index"}
    await caller.post("/self-model/outcome", failure)
    await caller.post("/context", {"userMessage": "roll ZQ7X4M2K back on blue-7"})
    return caller


@pytest.fixture
async def window(at: Running, tmp_path: Path) -> AsyncIterator[Page]:
    """A browser window on the page."""
    if reason := missing_chromium():
        pytest.skip(reason)
    async with browsing(at.url, tmp_path / "profile") as browser:
        yield browser.page


async def enter(window: Page, at: Running, key: str) -> None:
    await window.goto(at.url)
    await window.get_by_label("API key").fill(key)
    await window.get_by_role("button", name="Open").click()


async def test_a_person_reads_searches_decides_and_forgets(at: Running, window: Page, tmp_path: Path) -> None:
    caller = await filled(at)
    problems: list[str] = []
    window.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    await enter(window, at, caller.key)

    memories, plans = window.locator("#memories"), window.locator("#plans")
    await expect(memories).to_contain_text("Invoices are sent on the first Monday")
    await expect(memories).to_contain_text("<script>")
    await expect(window).to_have_title("Memory · turnhold")
    await expect(window.locator("#weak")).to_contain_text("53%")
    await expect(plans.get_by_role("row").filter(has_text="trigger").first).to_contain_text("ZQ7X4M2K")
    await expect(window.locator("#keys")).to_contain_text("keys:manage")
    await shoot(window, tmp_path, "memory-page.png")

    await window.get_by_label("Search").fill("invoices")
    await window.get_by_role("button", name="Search").click()
    await expect(memories.get_by_role("row")).to_have_count(2)
    await window.get_by_role("link", name="All").click()

    tension = window.get_by_role("article").filter(has_text=CLAIMS["actionableQuestion"])
    await tension.get_by_label("What holds").fill("At night")
    await tension.get_by_role("button", name="Resolve").click()
    await expect(tension).to_have_count(0)
    settled = (await caller.get("/tensions"))["tensions"]
    assert [(each["status"], each["pattern"]) for each in settled if each["claimA"]["source"] == "user"] == [
        ("resolved", "At night")
    ]

    row = memories.get_by_role("row").filter(has_text="Invoices")
    await row.get_by_role("button", name="Forget").click()
    await expect(row).to_have_count(0)
    assert await caller.recalled("invoices") == []

    await window.get_by_role("button", name="Close").click()
    await expect(window.get_by_label("API key")).to_be_visible()
    assert problems == []


async def test_a_key_that_opens_nothing_is_said_to(at: Running, window: Page) -> None:
    for key in ("nonsense", ADMIN):
        await enter(window, at, key)
        await expect(window.get_by_role("alert")).to_be_visible()
        assert await window.context.cookies() == []


async def test_the_page_works_without_javascript(at: Running) -> None:
    caller = await filled(at)
    page = (await opened(at, caller.key)).text
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "Invoices are sent" in page


async def opened(at: Running, key: str, path: str = "/") -> httpx.Response:
    return await at.http.get(path, headers={"cookie": f"turnhold_key={key}"})


async def csrf(at: Running, key: str) -> str:
    found = re.search(r'name="csrf" value="([0-9a-f]{64})"', (await opened(at, key)).text)
    assert found
    return found[1]


async def test_the_key_stays_in_a_cookie_that_scripts_and_other_sites_do_not_get(at: Running) -> None:
    caller = await at.caller()
    answer = await at.http.post("/login", data={"key": caller.key}, headers={"origin": at.url})
    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    for page in (await opened(at, caller.key), await opened(at, "")):
        assert caller.key not in page.text
        assert page.headers["content-security-policy"].startswith("default-src 'none'")
        assert page.headers["x-frame-options"] == "DENY"
        assert page.headers["cache-control"] == "no-store"


async def test_a_form_from_elsewhere_changes_nothing(at: Running) -> None:
    caller = await filled(at)
    memory = (await caller.get("/memories"))["memories"][0]["id"]
    word = await csrf(at, caller.key)
    cookie = {"cookie": f"turnhold_key={caller.key}"}
    attempts: list[tuple[dict[str, str], dict[str, str]]] = [
        ({"id": memory}, cookie),
        ({"id": memory, "csrf": "0" * 64}, cookie),
        ({"id": memory, "csrf": "ü"}, cookie),
        ({"id": memory, "csrf": word}, {**cookie, "origin": "https://evil.example"}),
        ({"id": memory, "csrf": word}, {**cookie, "origin": "null"}),
        ({"id": memory, "csrf": word}, {**cookie, "sec-fetch-site": "cross-site"}),
    ]
    for fields, headers in attempts:
        answer = await at.http.post("/page/forget", data=fields, headers=headers)
        assert answer.status_code == 403, fields
    assert (await at.http.post("/page/forget", data={"id": memory, "csrf": word})).status_code == 401
    assert (await caller.get(f"/memories/{memory}"))["memory"]["id"] == memory
    answer = await at.http.post("/page/forget", data={"id": memory, "csrf": word}, headers=cookie)
    assert answer.status_code == 303


async def test_what_a_key_may_not_do_the_page_does_not_do_either(at: Running) -> None:
    reader = await at.caller("harbour", scopes=["memories:read"])
    monitor = await at.caller("harbour", scopes=["stats:read"])
    assert "may not read memories" in (await opened(at, monitor.key)).text
    page = (await opened(at, reader.key)).text
    assert "/page/forget" not in page
    assert 'id="keys"' not in page
    word, cookie = await csrf(at, reader.key), {"cookie": f"turnhold_key={reader.key}", "accept": "text/html"}
    for path in ("/page/forget", "/page/revoke", "/page/resolve"):
        answer = await at.http.post(path, data={"id": "x", "csrf": word, "decision": "so"}, headers=cookie)
        assert answer.status_code == 403
        assert "This was not done" in answer.text


async def test_a_manager_closes_keys_of_the_own_organisation_only(at: Running) -> None:
    manager = await filled(at)
    other, foreign = await at.caller("harbour"), await at.caller("elsewhere")
    word, cookie = await csrf(at, manager.key), {"cookie": f"turnhold_key={manager.key}"}
    for organization, status in (("harbour", 303), ("elsewhere", 404)):
        keys = (await at.admin.get(f"/keys?organizationId={organization}"))["keys"]
        fields = {"id": keys[0]["id"], "csrf": word}
        assert (await at.http.post("/page/revoke", data=fields, headers=cookie)).status_code == status
    assert (await other.send("GET", "/stats")).status_code == 401
    assert (await foreign.send("GET", "/stats")).status_code == 200


async def test_the_admin_token_in_the_cookie_opens_no_page(at: Running) -> None:
    page = await opened(at, ADMIN)
    assert page.status_code == 200
    assert "API key" in page.text
    answer = await at.http.post("/page/forget", data={"id": "x"}, headers={"cookie": f"turnhold_key={ADMIN}"})
    assert answer.status_code == 401


async def test_forms_that_are_none_are_refused(at: Running) -> None:
    caller = await at.caller()
    headers = {"cookie": f"turnhold_key={caller.key}", "content-type": "application/x-www-form-urlencoded"}
    for body in (b"\xff\xfe=\xff", b"&".join(b"a%d=1" % number for number in range(50))):
        assert (await at.http.post("/page/forget", content=body, headers=headers)).status_code == 400
    assert (await at.http.post("/login", content=b"")).status_code == 401


async def shoot(window: Page, tmp_path: Path, name: str) -> None:
    """Keep a picture of the window: in docs/ with UPDATE_SCREENSHOTS=1, else beside the test's other files."""
    folder = DOCS if os.environ.get("UPDATE_SCREENSHOTS") == "1" else tmp_path
    await window.set_viewport_size({"width": WINDOW_WIDTH, "height": 1180})
    await window.mouse.move(0, 0)
    await window.screenshot(path=folder / name, animations="disabled", caret="hide")
    assert (folder / name).stat().st_size < SCREENSHOT_BYTES
