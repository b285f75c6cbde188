"""A page in a browser: headless Chromium of the operating system, driven by Playwright."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from playwright.sync_api import Page, expect, sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")

expect.set_options(timeout=60_000)  # the default of 5 s is short on a busy machine


@contextmanager
def open_page() -> Iterator[Page]:
    """Open an empty page. At the end, no script may have failed, and the security policy may have blocked nothing."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    assert found is not None, "no Chromium: on Debian and Ubuntu, apt install chromium-headless-shell"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if "Security Policy" in message.text else None)
        yield page
        browser.close()
    assert errors == []
