"""Every page at every width, dark and light: nothing sticks out, is hard to read or comes from elsewhere."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from playwright.sync_api import Page

from barnabas.page.changes import CHANGES
from barnabas.page.messages.desk import Desk
from barnabas.page.views import VIEWS
from barnabas.page.views.messages import kinds
from tests.browser.conftest import Staged
from tests.integration.page_process import running_page

# axe-core 4.12, MPL-2.0, as the package brings it: for tests alone.
_AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text()
_FAULTS = """async () => {
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
    const found = await axe.run({ runOnly: tags, resultTypes: ["violations"], elementRef: false });
    return found.violations.map((each) => [each.id, each.nodes.map((node) => [node.target, node.failureSummary])]);
}"""
_SIZES = [(width, scheme) for width in (360, 768, 1280, 1600) for scheme in ("dark", "light")]
# Each width once, as colours move nothing; `--whole` has all of them.
_SHORT = [(360, "dark"), (768, "light"), (1280, "light"), (1600, "dark")]
# axe-core takes half a second: unless the run is whole it looks at each page in one of these, in turn.
_LOOKED_AT = [(360, "dark"), (1280, "light")]
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
    views = [each.path for each in (*VIEWS, *kinds(Desk((), 0)))]
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
    ("path", "looked_at"), [(path, _LOOKED_AT[number % 2]) for number, path in enumerate(_paths())], ids=_paths()
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
        assert _look_at(window, sizes, sizes if sizes is _SIZES else _LOOKED_AT) == {}
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
    found = _look_at(window, _SHORT, _LOOKED_AT)
    assert len(found) == len(_SHORT)
    assert {"color-contrast", "image-alt", "is cut"} <= {name for name, _ in found["1280 light"]}
    assert "is cut" not in {name for name, _ in found["360 dark"]}
    assert any("Content Security Policy" in each for each in told.errors)
