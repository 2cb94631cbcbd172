"""A browser on the Temporal UI, for tests that see what a person sees. It reaches nothing outside this machine."""

import json
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from playwright.async_api import FrameLocator, Locator, Page, async_playwright, expect

WINDOW_WIDTH = 1360  # pixels; wide enough for five columns of a list
_ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
_TIMEOUT_MS = 30_000
# The UI keeps a person's choice of columns, by namespace, under this name in the browser.
_COLUMNS_KEY = "namespace-workflow-table-columns"


def missing_chromium() -> str | None:
    """Why no browser can be started here; None when one can."""
    return None if shutil.which("chromium") else "no `chromium` on the PATH"


@dataclass(frozen=True, slots=True)
class TemporalUI:
    """The Temporal UI in one browser window. `url` is where the UI is."""

    page: Page
    url: str

    async def choose_columns(self, labels: Sequence[str]) -> None:
        """Have lists show these columns, as the gear under a list does."""
        chosen = json.dumps({"default": [{"label": label} for label in labels]})
        await self.page.add_init_script(f"localStorage.setItem({json.dumps(_COLUMNS_KEY)}, {json.dumps(chosen)})")

    async def list(self, query: str) -> None:
        """Open the list of workflows that a visibility query finds."""
        await self.page.goto(f"{self.url}/namespaces/default/workflows?query={quote(query)}")

    def row(self, workflow_id: str) -> Locator:
        """The workflow's row in the list."""
        return self.page.get_by_role("row").filter(has=self.page.get_by_role("link", name=workflow_id, exact=True))

    async def open(self, workflow_id: str) -> None:
        """Click on a workflow of the list."""
        await self.row(workflow_id).get_by_role("link", name=workflow_id, exact=True).click()
        await self.page.get_by_test_id("workflow-id-heading").get_by_text(workflow_id).wait_for()

    async def tab(self, name: str) -> None:
        """Click on a tab of the workflow's page: `timeline`, `user-metadata` …"""
        await self.page.get_by_test_id(f"{name}-tab").click()

    @property
    def status(self) -> Locator:
        """The badge of the workflow's page: RUNNING, COMPLETED …"""
        return self.page.get_by_test_id("execution-status")

    @property
    def details(self) -> FrameLocator:
        """The current details, which the tab `user-metadata` renders in a frame of its own."""
        return self.page.frame_locator("#user-metadata-current-details")


@asynccontextmanager
async def browsing(url: str, profile: Path) -> AsyncIterator[TemporalUI]:
    """A window on the UI at `url`, with an empty profile that is kept in a new folder."""
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            profile,
            executable_path=shutil.which("chromium"),
            args=list(_ARGUMENTS),
            viewport={"width": WINDOW_WIDTH, "height": 860},
            timezone_id="UTC",
            locale="en-US",
        )
        context.set_default_timeout(_TIMEOUT_MS)
        expect.set_options(timeout=_TIMEOUT_MS)
        try:
            yield TemporalUI(context.pages[0], url)
        finally:
            await context.close()
