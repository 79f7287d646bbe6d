"""Windows that stay open for long: the page's memory, and a browser's tail at 10,000 records per second."""

import time
from collections.abc import Iterator

from playwright.sync_api import CDPSession

from benchmarks.load.process import resident_mb
from benchmarks.log_numbers.brokers import Measured
from benchmarks.page.browser import CLUSTER, Page, windows
from benchmarks.page.works import VIEWS, Row, note
from benchmarks.whole.topics import create
from tests.browser.visits import visits
from tests.chromium import reader, running_chromium

_TOPIC = "visits"
_RECORDS_PER_S = 10_000
# In addition to one window of each view: twenty in all.
_MORE = [f"/{kind}?name={kind}-{number}" for kind in ("topic", "group") for number in range(2, 6)]


def lasting(broker: Measured, page: Page, minutes: int) -> Iterator[Row]:
    """Keep twenty windows and a browser's tail open; measure both each minute."""
    create(broker, {_TOPIC: 1})
    paths = [f"{CLUSTER}{path}" for path in (*VIEWS.values(), *_MORE)]
    memory_mb: list[float] = []
    heap_mb: list[float] = []
    with visits(broker.address, _RECORDS_PER_S), windows(page, paths), running_chromium() as browser:
        tail = reader(browser).new_page()
        tail.goto(f"http://127.0.0.1:{page.port}{CLUSTER}/tail?topic={_TOPIC}")
        session = tail.context.new_cdp_session(tail)
        session.send("Performance.enable")
        for minute in range(1, minutes + 1):
            time.sleep(60)
            memory_mb.append(resident_mb(page.pid))
            heap_mb.append(_heap_mb(session))
            note(f"minute {minute}: the page {memory_mb[-1]:.0f} MB, the tail's heap {heap_mb[-1]:.1f} MB")
        told = tail.get_by_role("status").inner_text()
    count = len(paths)
    yield f"{count} windows and a tail for {minutes} min: memory", _course(memory_mb), "≤ 150 MB"
    yield f"a tail at {_RECORDS_PER_S:,} records/s for {minutes} min: the browser's heap", _course(heap_mb), "flat"
    yield "what the tail says then", told, ""


def _course(values_mb: list[float]) -> str:
    return f"{values_mb[0]:.1f} MB in the first minute, {values_mb[-1]:.1f} in the last, at most {max(values_mb):.1f}"


def _heap_mb(session: CDPSession) -> float:
    """Return the size of the scripts' heap after a garbage collection."""
    session.send("HeapProfiler.collectGarbage")
    found = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    return float(found["JSHeapUsedSize"]) / 1e6
