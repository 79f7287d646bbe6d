"""What readers do with the page, in one browser.

By keyboard alone: what a page is for can be done with Tab, Enter and typing, and the key / can be switched off.

Somebody new to the page finds the cause of each staged fault: by links alone, four at the most from the overview.

Ten windows and a tail of one browser stay live at once, and none waits for another.
"""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Staged
from tests.browser.visits import visits
from tests.patience import PATIENCE_S

# --- by keyboard

_FOCUSED = """() => {
    const at = document.activeElement;
    const label = at.labels?.[0];
    return (label ? "field " : "") + (label ?? at).textContent.trim();
}"""


def tab_to(window: Page, name: str) -> None:
    """Press Tab until what has a name that begins so has the focus."""
    seen: list[str] = []
    while len(seen) < 150:
        window.keyboard.press("Tab")
        seen.append(window.evaluate(_FOCUSED))
        if seen[-1].startswith(name):
            return
    raise AssertionError(f"Tab does not lead to {name!r}, but to {seen}")


def follow(window: Page, name: str) -> None:
    tab_to(window, name)
    with window.expect_navigation():
        window.keyboard.press("Enter")


def fill_in(window: Page, name: str, *keys: str) -> None:
    """Go to a field and type; what is the name of a key is pressed."""
    tab_to(window, f"field {name}")
    for each in keys:
        window.keyboard.press(each) if each[:1].isupper() else window.keyboard.type(each)


def send(window: Page) -> None:
    with window.expect_navigation():
        window.keyboard.press("Enter")


def find(window: Page, name: str) -> None:
    """Find something by name: the key / leads to the field."""
    window.keyboard.press("/")
    window.keyboard.type(name)
    send(window)
    follow(window, name)


def test_why_a_group_rebalanced_is_found(staged: Staged, window: Page) -> None:
    window.goto(f"{staged.page}/")
    find(window, "reports")
    expect(window.get_by_role("heading", level=1)).to_have_text("Group reports")
    expect(window.get_by_text("no heartbeat of reporter-2").first).to_be_visible()


def test_a_time_is_gone_to_and_records_are_searched(staged: Staged, window: Page) -> None:
    window.goto(f"{staged.page}/")
    follow(window, "Messages")
    fill_in(window, "Topic", "orders")
    fill_in(window, "Partition", "0")
    # Two hours after the first order, as a browser of this language wants it typed.
    fill_in(window, "or time", "01", "01", "2026", "ArrowRight", "02", "00", "00", "am")
    follow(window, "Show")
    table = window.get_by_role("table", name="Records")
    expect(table.get_by_role("link", name="0: 120", exact=True)).to_be_visible()
    assert table.get_by_role("link", name="0: 119", exact=True).count() == 0

    follow(window, "Search")
    fill_in(window, "Fields", "total >= 370")
    send(window)
    expect(window.get_by_role("status")).to_contain_text("4 found", timeout=60_000)


def test_a_reset_is_previewed(staged: Staged, window: Page) -> None:
    window.goto(f"{staged.page}/")
    find(window, "archive")
    follow(window, "Reset offsets")
    fill_in(window, "Topics", "orders:0")
    fill_in(window, "Target", "to-off")
    fill_in(window, "Value", "7")
    send(window)
    row = window.get_by_role("table", name="Effect").get_by_role("row", name="orders-0")
    assert row.get_by_role("cell").all_inner_texts() == ["0", "7"]


def test_a_limit_is_tried(staged: Staged, window: Page) -> None:
    window.goto(f"{staged.page}/")
    follow(window, "Clients")
    follow(window, "Try a limit")
    fill_in(window, "Client id", "importer")
    fill_in(window, "Quota", "producer")
    fill_in(window, "Value", "10000")
    send(window)
    expect(window.get_by_text("of 1 client would have been throttled")).to_be_visible()


def test_the_key_that_leads_to_the_search_can_be_switched_off(staged: Staged, window: Page) -> None:
    window.goto(f"{staged.page}/find")
    tab_to(window, "field The key /")
    for leads in (False, True):
        window.keyboard.press("Space")
        window.reload()
        window.keyboard.press("/")
        assert window.evaluate("document.activeElement.id === 'search'") is leads
        if not leads:
            tab_to(window, "field The key /")


# --- four clicks

_FAULTS = {
    "a reader waits for a transaction": (("Groups", "audit"), "transactional id settlement has a transaction open"),
    "a client is held": (("Clients", "importer"), "importer of ANONYMOUS was throttled"),
    "a client is refused": (("Access",), "DENY WRITE TOPIC payroll"),
    "a group rebalanced": (("Groups", "reports"), "no heartbeat of reporter-2"),
    "a segment stays": (("Topics", "clicks"), "its newest record's timestamp is in the future"),
}


@pytest.mark.parametrize("fault", _FAULTS)
def test_the_cause_is_four_clicks_away(staged: Staged, window: Page, fault: str) -> None:
    links, cause = _FAULTS[fault]
    assert len(links) <= 4
    window.goto(f"{staged.page}/")
    for each in links:
        window.get_by_role("link", name=each, exact=True).first.click()
        expect(window.get_by_role("heading", level=1)).to_contain_text(each, ignore_case=True)
    expect(window.locator("#view")).to_contain_text(cause)


def test_what_is_found_leads_to_what_it_is_about(staged: Staged, window: Page) -> None:
    window.goto(f"{staged.page}/")
    window.get_by_role("link", name="Look at group audit").first.click()
    expect(window.get_by_role("heading", level=1)).to_contain_text("audit")


# --- many windows

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
