"""The page in a real browser: Debian's Chromium, driven by Playwright."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from playwright.sync_api import Browser, Dialog, Page, Request, sync_playwright

from mhpc.report.html import write_report

Open: TypeAlias = Callable[..., Page]
"""A function that opens a report of these facts in a new window, optionally at an anchor."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium; without it, tests are skipped unless MHPC_BROWSER is "required"."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None and os.environ.get("MHPC_BROWSER") != "required":
        pytest.skip("no chromium to show the page in")
    assert path is not None, "no chromium, and MHPC_BROWSER says that it is required"
    with sync_playwright() as playwright:
        # Chromium refuses its sandbox to root; the pages that it opens here are our own.
        chromium = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu"]
        )
        yield chromium
        chromium.close()


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Open reports, and fail if any of them sends a request, logs an error or opens a dialog."""
    requests: list[str] = []
    errors: list[str] = []

    def open_report(facts: Mapping[str, Any], anchor: str = "", **context: Any) -> Page:
        write_report(tmp_path, facts)
        address = (tmp_path / "report.html").as_uri()
        page = browser.new_context(reduced_motion="reduce", **context).new_page()
        page.set_default_timeout(10_000)

        def record(request: Request) -> None:
            if request.url.split("#")[0] != address and not request.url.startswith("data:"):
                requests.append(request.url)

        def refuse(dialog: Dialog) -> None:
            errors.append(dialog.message)
            dialog.dismiss()

        page.on("request", record)
        page.on("console", lambda message: errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("dialog", refuse)
        page.goto(address + anchor)
        page.wait_for_selector(".waiting", state="detached")
        return page

    yield open_report
    for context in browser.contexts:
        context.close()
    assert (requests, errors) == ([], [])
