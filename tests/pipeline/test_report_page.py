"""What a browser draws of the report: all of it visible, readable and true, and nothing asked of the network."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from barnabas.pipeline.report import ReportData, render
from tests.chromium import reader, running_chromium
from tests.pipeline import report_samples

_LARGEST_BYTES = 500_000
_DRAWN = (Path(__file__).parent / "drawn.js").read_text()
SAMPLES = {
    "full": report_samples.FULL,
    "hostile": report_samples.hostile(),
    "long": report_samples.long(),
    "empty": report_samples.EMPTY,
}


@pytest.fixture(scope="module")
def window() -> Iterator[Page]:
    with running_chromium() as browser:
        yield reader(browser).new_page()


def shown(window: Page, path: Path, data: ReportData, width: int, height: int, scheme: str) -> None:
    page = path / "report.html"
    page.write_text(render(data), encoding="utf-8")
    window.set_viewport_size({"width": width, "height": height})
    window.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    window.goto(page.as_uri())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("width", "height"), [(360, 800), pytest.param(800, 900, marks=pytest.mark.whole), (1280, 900)]
)
@pytest.mark.parametrize("sample", SAMPLES)
def test_all_that_is_drawn_is_visible_readable_and_as_long_as_its_value(
    window: Page, tmp_path: Path, sample: str, width: int, height: int, scheme: str
) -> None:
    shown(window, tmp_path, SAMPLES[sample], width, height, scheme)
    counted = 0
    for _ in ("figures hidden", "figures shown"):
        faults = window.evaluate(_DRAWN)
        assert faults["counted"] > max(20, counted) or sample == "empty"
        counted = faults.pop("counted")
        assert {fault: where[:5] for fault, where in faults.items() if where} == {}
        window.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true })")


@pytest.mark.parametrize("sample", SAMPLES)
def test_page_asks_for_nothing_runs_nothing_and_is_small(window: Page, tmp_path: Path, sample: str) -> None:
    requests: list[str] = []
    window.on("request", lambda request: requests.append(request.url))
    shown(window, tmp_path, SAMPLES[sample], 360, 800, "light")
    assert requests == [(tmp_path / "report.html").as_uri()]
    assert window.evaluate("document.title") != "owned"
    assert window.evaluate("document.scripts.length + document.images.length") == 0
    # None of the hostile texts has become an element or left the card that it belongs into.
    assert window.evaluate("document.querySelectorAll('h1').length") == 1
    assert window.evaluate("[...document.querySelectorAll('.cards > *')].every((e) => e.tagName === 'SECTION')")
    assert (tmp_path / "report.html").stat().st_size < _LARGEST_BYTES


def test_dark_and_light_differ_as_the_reader_asks(window: Page, tmp_path: Path) -> None:
    backs = []
    for scheme in ("light", "dark"):
        shown(window, tmp_path, report_samples.FULL, 360, 800, scheme)
        color = window.evaluate("getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)")
        backs.append(sum(color))
    assert backs[0] > 600 > 150 > backs[1]


def test_columns_lie_over_the_time_that_the_axis_says(window: Page, tmp_path: Path) -> None:
    shown(window, tmp_path, report_samples.FULL, 1280, 900, "light")
    # Midnight of the second day begins the 25th column; the sample lacks the eighth hour.
    edges = window.evaluate(
        """(() => {
            const plot = document.querySelector('.plot');
            const label = [...plot.querySelectorAll('text')].find((e) => e.textContent === '18 May');
            const mark = label.getBoundingClientRect();
            const boxes = [...plot.querySelectorAll('g.fill.s1 rect')].map((e) => e.getBoundingClientRect());
            return [boxes[22].right, (mark.left + mark.right) / 2, boxes[23].left];
        })()"""
    )
    assert edges[0] < edges[1] < edges[2]
    assert edges[2] - edges[0] < 5
