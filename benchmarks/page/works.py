"""Measurements of a page: its start, its views, windows that stay open, searches."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.load import lines
from benchmarks.load.process import cpu_s, resident_mb
from benchmarks.load.targets import Running
from benchmarks.log_numbers.brokers import Measured
from benchmarks.page.browser import CLUSTER, Page, longest_wait_s, running_page, windows
from benchmarks.page.filled import RARE, fill_orders
from benchmarks.whole.topics import create

VIEWS = {
    "overview": "/?",
    "topics": "/topics?",
    "topic": "/topic?name=topic-1&",
    "groups": "/groups?",
    "group": "/group?name=group-1&",
    "clients": "/clients?",
    "transactions": "/transactions?",
    "slow": "/slow?",
    "brokers": "/brokers?",
    "access": "/access?",
    "messages": "/messages?topic=topic-1&",
    "find": "/find?text=topic-1&",
}
_STARTS = 5
# Pause after which cached answers have expired.
_APART_S = 5.0
_WARMUP_COUNT, _PRODUCES_PER_S = 10_000, 90
_SEARCH_PATH = f"{CLUSTER}/search"
_SEARCHES = {
    "text": ({"text": RARE}, RARE),
    "field": ({"where": "order.status = 777"}, '"status": 777'),
    "range": ({"where": "order.amount > 1000000"}, '"amount": 2000000'),
}
_LONGEST_SEARCH_S = 300.0

Row = tuple[str, str, str]


def starts(broker: Measured) -> Iterator[Row]:
    """Start the page several times."""
    taken, whole, memory = [], [], []
    for _ in range(_STARTS):
        with running_page(broker.address) as page:
            taken.append(page.started_s)
            whole.append(page.whole_s)
            memory.append(resident_mb(page.pid))
    yield "start to the first page", f"{median(taken):.2f} s ({min(taken):.2f}–{max(taken):.2f})", "≤ 0.6 s"
    yield "the same, until all of it is there", f"{median(whole):.2f} s ({min(whole):.2f}–{max(whole):.2f})", ""
    yield "memory then", f"{median(memory):.0f} MB", "≤ 60 MB"


def views(page: Page, rounds: int) -> Iterator[Row]:
    """Request each view twice, fresh and from the cache; all views in turn, with pauses."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in VIEWS}
    again_s: list[float] = []
    with longest_wait_s(page) as stood_still:
        for number in range(rounds):
            time.sleep(_APART_S)
            for name, path in VIEWS.items():
                asked = f"{CLUSTER}{path}round={number}"
                taken[name].append(page.ask_s(asked))
                again_s.append(page.ask_s(asked)[1])
    for name in VIEWS:
        yield f"{name}: first byte", _quantiles([first_s for first_s, _ in taken[name]]), "< 200 ms"
        yield f"{name}: all of it", _quantiles([whole_s for _, whole_s in taken[name]]), ""
    yield "refreshed, of all", _quantiles(again_s), "< 50 ms"
    yield "longest stall of the page's loop", f"{stood_still[0] * 1e3:.0f} ms", "≤ 50 ms"


def _quantiles(taken: list[float]) -> str:
    ordered = sorted(taken)
    p95 = ordered[min(len(ordered) * 95 // 100, len(ordered) - 1)]
    return f"p95 {p95 * 1e3:.0f} ms, median {median(ordered) * 1e3:.0f} ms"


def beside(broker: Measured, page: Page, for_s: int) -> Iterator[Row]:
    """Measure small produces and the broker's CPU without windows and with ten of them."""
    running = Running(broker.address, broker.pid, 0.0)
    lines._raw(running, "latency", "small", _WARMUP_COUNT)
    # Produce for as long as the windows stay open.
    alone = lines._raw(running, "paced", "small", for_s * _PRODUCES_PER_S)["p99_us"]
    idle = _cpu_part(broker.pid, for_s)
    with windows(page, [f"{CLUSTER}{path}" for path in list(VIEWS.values())[:10]]):
        time.sleep(_APART_S)
        busy = _cpu_part(broker.pid, for_s)
        with_windows = lines._raw(running, "paced", "small", for_s * _PRODUCES_PER_S)["p99_us"]
    yield "ten windows: broker's CPU, of a core", f"{busy - idle:.1%} (idle: {idle:.1%})", "≤ 3 %"
    told = f"{with_windows / alone:.2f}x ({with_windows:.0f} µs, {alone:.0f} µs)"
    yield "ten windows: p99 of small produces", told, "≤ 1.1x"
    yield "the page's memory then", f"{resident_mb(page.pid):.0f} MB", "≤ 150 MB"


def _cpu_part(pid: int, for_s: int) -> float:
    before_s, begin_s = cpu_s(pid), time.perf_counter()
    time.sleep(for_s)
    return (cpu_s(pid) - before_s) / (time.perf_counter() - begin_s)


def searches(broker: Measured, page: Page, size_mb: int) -> Iterator[Row]:
    """Search in a topic without a codec and one with lz4, beside kcat into grep."""
    for codec in ("none", "lz4"):
        topic = f"orders-{codec}"
        create(broker, {topic: 1})
        fill_orders(broker.address, topic, size_mb, codec)
        for name, (wish, line) in _SEARCHES.items():
            by_kcat_s, kcat_count = _by_kcat(broker.address, topic, line)
            took_s, count = _search(page, topic, wish)
            if count != kcat_count:
                raise RuntimeError(f"{topic}: {count} found by the page, {kcat_count} by kcat into grep")
            goal = "≤ 2x" if name == "text" else "≤ 5x"
            told = f"{took_s / by_kcat_s:.1f}x ({took_s:.1f} s, {by_kcat_s:.1f} s)"
            yield f"search in {size_mb} MB, {codec}, {name}: of kcat into grep", told, goal
        yield f"a search in {size_mb} MB, {codec}, is stopped", f"{_stop(page, topic):.2f} s", "≤ 1 s"


def _by_kcat(address: str, topic: str, text: str) -> tuple[float, int]:
    command = f"kcat -C -q -e -o beginning -b {address} -t {topic} -X check.crcs=false | grep -c -F '{text}'"
    begin_s = time.perf_counter()
    found = subprocess.run(command, shell=True, capture_output=True, text=True, check=True, timeout=_LONGEST_SEARCH_S)
    return time.perf_counter() - begin_s, int(found.stdout)


def _fields(topic: str, wish: dict[str, str]) -> dict[str, str]:
    return {"topic": topic, **wish, "nonce": str(time.monotonic_ns())}


def _search(page: Page, topic: str, wish: dict[str, str]) -> tuple[float, int]:
    begin_s = time.perf_counter()
    address = page.send(_SEARCH_PATH, _fields(topic, wish))
    while time.perf_counter() - begin_s < _LONGEST_SEARCH_S:
        progress = page.value(address)["progress"]
        if progress["state"] != "running":
            break
        time.sleep(0.1)
    if progress["state"] != "done":
        raise RuntimeError(f"the search {progress['state']}: {progress['note']}")
    return time.perf_counter() - begin_s, len(progress["rows"])


def _stop(page: Page, topic: str) -> float:
    """Return the time from the stop request until the search's process has ended."""
    fields = _fields(topic, {"text": "nowhere-to-be-found"})
    page.send(_SEARCH_PATH, fields)
    while not _children(page.pid):
        time.sleep(0.01)
    time.sleep(0.5)
    begin_s = time.perf_counter()
    page.send(_SEARCH_PATH, {**fields, "stop": "1"})
    while _children(page.pid):
        time.sleep(0.005)
    return time.perf_counter() - begin_s


def _children(pid: int) -> str:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text()


def note(text: str) -> None:
    """Print the progress."""
    print(text, file=sys.stderr, flush=True)
