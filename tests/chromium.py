"""Debian's Chromium without a window, told what to do by Playwright.

While it runs the thread has an event loop: whoever calls `asyncio.run` beside it does so in another one.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, BrowserContext, sync_playwright

# Somewhere whose time is no whole number of hours from UTC.
ZONE = "America/St_Johns"


def program() -> str | None:
    """Where the browser is; None where there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextmanager
def running_chromium() -> Iterator[Browser]:
    """Start a browser; end it with the block."""
    found = program()
    assert found is not None, "there is no Chromium: scripts/packages installs it"
    with sync_playwright() as playwright:
        # Its sandbox is for strangers' pages, and needs a user of its own.
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-dev-shm-usage"])
        try:
            yield browser
        finally:
            browser.close()


def reader(browser: Browser, width: int = 1280, height: int = 900, scheme: str = "light") -> BrowserContext:
    """Give a reader's windows of this size, "light" or "dark" as he prefers."""
    return browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
        timezone_id=ZONE,
    )
