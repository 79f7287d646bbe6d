"""By keyboard alone: what a page is for can be done with Tab, Enter and typing, and the key / can be switched off."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import Staged

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
    fill_in(window, "Where to", "to-off")
    fill_in(window, "Value", "7")
    send(window)
    row = window.get_by_role("table", name="What it does").get_by_role("row", name="orders-0")
    assert row.get_by_role("cell").all_inner_texts() == ["0", "7"]


def test_a_limit_is_tried(staged: Staged, window: Page) -> None:
    window.goto(f"{staged.page}/")
    follow(window, "Clients")
    follow(window, "Try a limit")
    fill_in(window, "Client id", "importer")
    fill_in(window, "Limit", "producer")
    fill_in(window, "At most", "10000")
    send(window)
    expect(window.get_by_text("of 1 client would have been held")).to_be_visible()


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
