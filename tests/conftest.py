"""What holds for all tests."""

import gc
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from barnabas.core.command_line import ENVIRONMENT
from tests import spark_classes, times
from tests.compat import figures
from tests.times import PARTS, Timed, file_of, part_of, unit_of

# How many examples a property is tried on; `--hypothesis-profile` chooses. How long one takes says something about the
# machine, not about the code.
for _name, _count in {"quick": 10, "desk": 50, "night": 1_000}.items():
    settings.register_profile(
        _name, max_examples=_count, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
    )
settings.load_profile("desk")

# In the background of a shell a process ignores Ctrl-C, and so would all that the tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What the caller's shell sets is nothing that a command under test should see. Unbuffered output would hide that a
# command does not flush.
for _name in (*ENVIRONMENT.values(), "PYTHONUNBUFFERED"):
    os.environ.pop(_name, None)

spark_classes.use_archive()

_start_s = time.monotonic()
_REAL_LOG = Path(__file__).resolve().parents[2] / "shared" / "data" / "access.log.gz"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write what is seen into tests/golden/scenarios")
    parser.addoption("--rewrite-times", action="store_true", help="note how long each file took: tests/file_times.txt")
    parser.addoption("--whole", action="store_true", help="also the tests marked `whole`, as scripts/soak --tests does")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the garbage collector from the objects of 17,000 tests, which live until the end.

    A full collection took half a second, and tests that want no forgotten sockets make two hundred of them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only a whole run does, and begin with the longest units and files.

    So none of those is left over for one worker at the end. Within a file the order stays as random as it is.
    """
    if not config.getoption("--whole"):
        left_out = [item for item in items if item.get_closest_marker("whole")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("whole")]
    order = {part: place for place, part in enumerate(PARTS)}
    known = times.known_times()
    of_units: Counter[str] = Counter()
    for file, seconds in known.items():
        of_units[unit_of(file)] += seconds

    def place(item: pytest.Item) -> tuple[int, int, int]:
        seconds = of_units[unit_of(item.nodeid)], known.get(file_of(item.nodeid), 0)
        return -seconds[0], -seconds[1], order.get(part_of(item.nodeid), len(order))

    items.sort(key=place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    """Give each worker whole units; see `times.unit_of`."""
    return _UnitScheduling(config, log) if config.getvalue("dist") == "loadfile" else None


class _UnitScheduling(LoadFileScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print tables; here, as the process that gathers what workers report reads no other conftest.py."""
    reports = [
        report
        for of_outcome in terminalreporter.stats.values()
        for report in of_outcome
        if isinstance(report, pytest.TestReport)
    ]
    phases = [Timed(report.nodeid, report.duration) for report in reports]
    if config.getoption("--rewrite-times"):
        times.write_known_times(times.by_file(phases))
    worker_count = len(config.getoption("tx", None) or ["this process"])
    sections = {
        "handed over": figures.table(figures.rows_in(reports)),
        "times": times.table(phases, time.monotonic() - _start_s, worker_count),
    }
    for title, lines in sections.items():
        if lines:
            terminalreporter.section(title)
            for line in lines:
                terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def real_access_log() -> Path:
    """10,000 page views of a public web site: they are not part of the repository, and lie beside it.

    A test that wants them is skipped where they are not; where CI is set it fails.
    """
    if not _REAL_LOG.exists():
        absent = f"the real access log is not beside the repository: {_REAL_LOG}"
        pytest.fail(absent) if os.environ.get("CI") else pytest.skip(absent)
    return _REAL_LOG
