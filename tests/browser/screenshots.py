"""Take the pictures of the README anew: `python -m tests.browser.screenshots`."""

from pathlib import Path

from tests.browser.staged import staged_broker
from tests.chromium import reader, running_chromium
from tests.integration.page_process import running_page

_DOCS = Path(__file__).parents[2] / "docs" / "pictures"
# Name, path, what the reader prefers, what lies on top, and how high it is.
_PICTURES = (
    ("overview", "/", "light", "header", 750),
    ("group", "/group?name=billing", "dark", "section.card", 920),
    ("clients", "/clients", "light", "header", 750),
    ("messages", "/messages?topic=orders&partition=0", "dark", "header", 750),
)


def main() -> None:
    _DOCS.mkdir(exist_ok=True)
    with staged_broker() as servers, running_page("--bootstrap-server", servers) as port, running_chromium() as browser:
        for name, path, scheme, top, height in _PICTURES:
            context = reader(browser, 1_000, height, scheme)
            window = context.new_page()
            window.goto(f"http://127.0.0.1:{port}/c/cluster{path}")
            window.locator(top).evaluate("(element) => element.scrollIntoView()")
            window.screenshot(path=_DOCS / f"page-{name}.png")
            context.close()


if __name__ == "__main__":
    main()
