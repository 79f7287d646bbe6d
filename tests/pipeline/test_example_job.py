"""The job of the docs is a job: the page shows the file, and it runs."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from barnabas.pipeline.catalogue import find_job
from barnabas.pipeline.commands.main import main
from barnabas.pipeline.events import EVENT_TYPES
from barnabas.pipeline.tables.table import TableError
from tests.pipeline.site import Site

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs/examples/slow_pages.py"


def test_the_page_shows_the_file_and_it_is_short():
    text = EXAMPLE.read_text()
    assert text in (ROOT / "docs/pipeline/writing-a-job.md").read_text()
    code = [line for line in text.split('"""')[2].splitlines() if line.strip()]
    assert len(code) <= 32


def test_the_page_of_events_names_all_types_and_fields():
    text = (ROOT / "docs/pipeline/events.md").read_text()
    for event in EVENT_TYPES.values():
        (row,) = (line for line in text.splitlines() if line.startswith(f"| `{event.name}` v{event.version} | "))
        assert f"| `{event.topic}` | {event.key} |" in row
        for field in event.own_fields:
            shown = f"**{field.name}**" if field.is_required else field.name
            assert f"{shown} {field.kind.value.lower()}" in row


def _view(number: int) -> dict[str, object]:
    return {
        "id": f"v:{number}",
        "time": datetime(2026, 3, 6, 19, number, tzinfo=UTC),
        "address": "192.0.2.1",
        "method": "GET",
        "page": f"/{number % 2}",
        "status": 200,
        "latency_ms": 100.0 * number,
    }


def test_the_example_runs(site: Site):
    job = find_job(str(EXAMPLE))
    site.create(site.topic("page_view"))
    site.send_events("page_view", [_view(number) for number in (*range(10), 9)])
    site.run(job)
    hour = datetime(2026, 3, 6, 19)
    assert site.rows(job, "slow_pages") == [(hour, "/0", 5, 800.0), (hour, "/1", 5, 900.0)]


_FAST = """
from barnabas.pipeline.events.types import EVENT_TYPES
from barnabas.pipeline.job import Job, TableOutput, TopicInput


def timings(name, events):
    return events.select(["page", "latency_ms", "_topic", "_partition", "_offset"])


INPUT = TopicInput("views", EVENT_TYPES["page_view"])
JOB = Job(name="fast", does="", inputs=(INPUT,), outputs=(TableOutput("timings"),), facts=timings)
"""


def test_workers_run_the_facts_of_a_job_that_is_a_file(site: Site, tmp_path: Path):
    (tmp_path / "fast.py").write_text(_FAST)
    job = find_job(str(tmp_path / "fast.py"))
    site.create(site.topic("page_view"))
    site.send_events("page_view", [_view(1)])
    site.run(job)
    assert [tuple(row)[:2] for row in site.rows(job, "timings")] == [("/1", 100.0)]


_TYPES = """
import pyarrow as pa
from barnabas.pipeline.events.types import EVENT_TYPES
from barnabas.pipeline.job import Job, TableOutput, TopicInput


def timings(name, events):
    kind = %s
    lengths = pa.array([len(page.as_py()) for page in events["page"]], kind)
    columns = {"length": lengths, "_offset": events["_offset"]}
    return pa.table(dict(reversed(columns.items())) if events.num_rows else columns)


INPUT = TopicInput("views", EVENT_TYPES["page_view"])
JOB = Job(name="types", does="", inputs=(INPUT,), outputs=(TableOutput("timings"),), facts=timings)
"""


def test_facts_have_the_types_of_their_table(site: Site, tmp_path: Path):
    site.create(site.topic("page_view"))
    site.send_events("page_view", [_view(1)])
    # Arrow takes the type from the values, and there are none at first.
    for kind in ("None", "pa.float64() if events.num_rows == 0 else None"):
        (tmp_path / "types.py").write_text(_TYPES % kind)
        job = find_job(str(tmp_path / "types.py"))
        if kind == "None":
            with pytest.raises(TableError, match="facts returns column length without a type if there are no events"):
                site.run(job)
        else:
            site.run(job)
    assert site.rows(job, "timings", "length") == [(2.0,)]


def test_the_example_is_listed(capsys):
    assert main(["list", str(EXAMPLE)]) == 0
    told = capsys.readouterr().out
    assert "slow-pages: says which pages are slow, hour by hour" in told
    assert "at_least_ms = 500.0: slower than this is slow" in told
