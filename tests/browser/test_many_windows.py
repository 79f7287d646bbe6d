"""Ten windows and a tail of one browser at once: all stay live, and none waits for another."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import Staged
from tests.browser.visits import visits
from tests.patience import PATIENCE_S

_PATHS = (
    *("/", "/topics", "/topic?name=visits", "/groups", "/group?name=billing"),
    *("/clients", "/transactions", "/slow", "/brokers", "/messages?topic=visits"),
)
_PATIENCE_MS = PATIENCE_S * 1_000


def _as_of(window: Page) -> str:
    return window.locator("footer time").inner_text()


def test_all_stay_live_beside_a_tail(staged: Staged, window: Page) -> None:
    windows = [window, *(window.context.new_page() for _ in range(10))]
    *others, tail = windows
    for each, path in zip(others, _PATHS, strict=True):
        each.goto(f"{staged.page}{path}")
    tail.goto(f"{staged.page}/tail?topic=visits")
    first = [_as_of(each) for each in windows]
    with visits(staged.servers, 2_000):
        expect(tail.locator("tbody tr")).to_have_count(500, timeout=_PATIENCE_MS)
        told = tail.get_by_role("status")
        expect(told).to_contain_text(re.compile("the last 500 records, [1-9][0-9,]* dropped"), timeout=_PATIENCE_MS)
        dropped = told.inner_text()
        for each, was in zip(windows, first, strict=True):
            expect(each.locator("footer time")).not_to_have_text(was, timeout=_PATIENCE_MS)
            expect(each.locator(".stopped")).to_be_hidden()
        expect(told).not_to_have_text(dropped, timeout=_PATIENCE_MS)
        expect(tail.locator("tbody tr")).to_have_count(500)
