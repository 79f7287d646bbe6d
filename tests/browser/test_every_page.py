"""The page in a browser. Every page on a telephone and a desk, dark and light: nothing sticks out, is hard to read or
comes from elsewhere.

By keyboard alone: what a page is for can be done with Tab, Enter and typing, and the key / can be switched off.

Somebody new to the page finds the cause of each staged fault: by links alone, four at the most from the overview.

Ten windows and a tail of one browser stay live at once, and none waits for another.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from playwright.sync_api import Page, expect

from barnabas.page.changes import CHANGES
from barnabas.page.messages.state import MessageState
from barnabas.page.views import VIEWS
from barnabas.page.views.messages import kinds
from tests.browser.conftest import Staged
from tests.browser.visits import visits
from tests.integration.page_process import running_page
from tests.patience import PATIENCE_S

# axe-core 4.12, MPL-2.0, as the package brings it: for tests alone.
_AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text()
_FAULTS = """async () => {
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
    const found = await axe.run({ runOnly: tags, resultTypes: ["violations"], elementRef: false });
    return found.violations.map((each) => [each.id, each.nodes.map((node) => [node.target, node.failureSummary])]);
}"""
_SIZES = [(width, scheme) for width in (360, 768, 1280, 1600) for scheme in ("dark", "light")]
# A telephone and a desk, as colours move nothing; `--whole` has all widths.
_SHORT = [(360, "dark"), (1280, "light")]
_ASKED = {
    "/topic": "name=orders",
    "/group": "name=billing",
    "/client": "user=ANONYMOUS&client_id=importer",
    "/clients/try": "client_id=importer&name=producer_byte_rate&value=1000",
    "/access": "user=ANONYMOUS&operation=Write&type=Topic&resource=payroll",
    "/find": "text=or",
    "/messages": "topic=clicks",
    "/record": "topic=orders&partition=0&offset=7",
    "/search": "topic=clicks&text=click",
    "/tail": "topic=clicks",
    "/change/reset-offsets": "group=archive",
}


def _paths() -> list[str]:
    views = [each.path for each in (*VIEWS, *kinds(MessageState((), 0)))]
    return [*views, "/changes", *(each.path for each in CHANGES)]


# A table that scrolls inside its box hides its last columns. Narrow windows may scroll a box, a desktop window may not.
_CUT = """() => [...document.querySelectorAll("main, main *")]
    .filter((each) => each.clientWidth && each.scrollWidth > each.clientWidth)
    .filter((each) => getComputedStyle(each).overflowX !== "visible")
    .map((each) => [each.tagName, each.getAttribute("aria-label"), each.scrollWidth, each.clientWidth])"""
_DESKTOP = 1280


def _look_at(
    window: Page, sizes: Sequence[tuple[int, str]], looked_at: Sequence[tuple[int, str]]
) -> dict[str, list[Any]]:
    """Give what is wrong with a page that is open, by width and scheme; axe-core looks at `looked_at`."""
    window.evaluate(_AXE)
    found = {}
    for width, scheme in sizes:
        window.set_viewport_size({"width": width, "height": 900})
        window.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        wide = window.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        faults = window.evaluate(_FAULTS) if (width, scheme) in looked_at else []
        faults += [["scrolls sideways", wide]] if wide > 0 else []
        faults += [["is cut", each] for each in window.evaluate(_CUT)] if width >= _DESKTOP else []
        if faults:
            found[f"{width} {scheme}"] = faults
    return found


class _Told:
    """What a window complains of, and whom it asks."""

    def __init__(self, window: Page) -> None:
        self.errors: list[str] = []
        self.addresses: set[str] = set()
        # What a Content-Security-Policy refuses is an error, too.
        window.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        window.on("pageerror", lambda error: self.errors.append(str(error)))
        window.on("request", lambda request: self.addresses.add(request.url.split("/")[2]))


@pytest.fixture(scope="module")
def sizes(pytestconfig: pytest.Config) -> Sequence[tuple[int, str]]:
    return _SIZES if pytestconfig.getoption("--whole") else _SHORT


@pytest.mark.parametrize(
    ("path", "looked_at"),
    # axe-core takes half a second: unless the run is whole it looks at each page in one of the sizes, in turn.
    [(path, _SHORT[number % 2]) for number, path in enumerate(_paths())],
    ids=_paths(),
)
def test_page_is_in_its_frame_and_easy_to_use(
    staged: Staged, window: Page, sizes: Sequence[tuple[int, str]], path: str, looked_at: tuple[int, str]
) -> None:
    told = _Told(window)
    window.goto(f"{staged.page}{path}?{_ASKED.get(path, '')}")
    if path == "/search":
        window.get_by_role("button", name="Search", exact=True).click()
        window.get_by_text("1 found").wait_for()
    assert _look_at(window, sizes, sizes if sizes is _SIZES else [looked_at]) == {}
    assert told.errors == []
    assert told.addresses == {staged.page.split("/")[2]}
    assert window.locator("h1").count() == 1


def test_login_is_easy_to_use(staged: Staged, window: Page, sizes: Sequence[tuple[int, str]]) -> None:
    with running_page("--bootstrap-server", staged.servers, "--login") as port:
        told = _Told(window)
        window.goto(f"http://127.0.0.1:{port}/login")
        assert _look_at(window, sizes, sizes if sizes is _SIZES else _SHORT) == {}
        assert told.errors == []


def test_what_is_wrong_is_found(staged: Staged, window: Page) -> None:
    told = _Told(window)
    window.goto(f"{staged.page}/changes")
    window.evaluate(
        """() => {
            document.querySelector("main p").style.color = "#999";
            document.querySelector("main").append(new Image());
            document.querySelector("img").src = "http://127.0.0.2:9/pixel";
            document.querySelector("ul").style.width = "2000px";
            const box = document.createElement("div");
            box.className = "box";
            box.innerHTML = "<p>wide</p>";
            box.firstChild.style.width = "3000px";
            document.querySelector("main").append(box);
        }"""
    )
    found = _look_at(window, _SHORT, _SHORT)
    assert len(found) == len(_SHORT)
    assert {"color-contrast", "image-alt", "is cut"} <= {name for name, _ in found["1280 light"]}
    assert "is cut" not in {name for name, _ in found["360 dark"]}
    assert any("Content Security Policy" in each for each in told.errors)


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

_CAUSES = {
    "a reader waits for a transaction": (("Groups", "audit"), "transactional id settlement has a transaction open"),
    "a client is held": (("Clients", "importer"), "importer of ANONYMOUS was throttled"),
    "a client is refused": (("Access",), "DENY WRITE TOPIC payroll"),
    "a group rebalanced": (("Groups", "reports"), "no heartbeat of reporter-2"),
    "a segment stays": (("Topics", "clicks"), "its newest record's timestamp is in the future"),
}


@pytest.mark.parametrize("fault", _CAUSES)
def test_the_cause_is_four_clicks_away(staged: Staged, window: Page, fault: str) -> None:
    links, cause = _CAUSES[fault]
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
