"""Chromium, driven through the console of a service that runs in the test."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

AXE = Path(__file__).parents[2] / "support" / "axe" / "axe.min.js"
PATIENCE_MS = 30_000
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """Where the system's Chromium is."""
    return os.environ.get("CQC_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)


@contextmanager
def browsing() -> Iterator[Browser]:
    """A browser without windows; the test is skipped where there is none."""
    path = chromium()
    if path is None:
        pytest.skip("there is no Chromium on this machine (apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


class Visitor:
    """One tab, and what went wrong in it."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.troubles: list[str] = []
        self.elsewhere: list[str] = []
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("console", self._said)
        page.on("request", self._asked)

    def _said(self, message: Any) -> None:
        text = message.text
        if message.type == "error" and "Content Security Policy" in text:
            self.troubles.append(text)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.elsewhere.append(request.url)

    def visit(self, place: str = "") -> None:
        """Load the console at a screen."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}/{place}")

    def sees(self, text: str) -> None:
        """Wait until a text is on the page."""
        self.page.get_by_text(text).first.wait_for()

    def heading(self, text: str) -> None:
        self.page.get_by_role("heading", name=text).first.wait_for()

    def wrong_for_everybody(self) -> list[str]:
        """What axe-core finds: contrast, roles, names."""
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate(
            "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']})"
        )
        return [
            f"{each['id']}: {each['help']}: {[node['html'][:160] for node in each['nodes'][:3]]}"
            for each in found["violations"]
        ]


@contextmanager
def visiting(browser: Browser, address: str, **more: Any) -> Iterator[Visitor]:
    """A tab of its own; in the end nothing may have gone wrong in it, nor anything been asked of others."""
    more.setdefault("viewport", {"width": 1280, "height": 860})
    context = browser.new_context(**more)
    try:
        visitor = Visitor(context.new_page(), address)
        yield visitor
        assert not visitor.troubles
        assert not visitor.elsewhere
    finally:
        context.close()
