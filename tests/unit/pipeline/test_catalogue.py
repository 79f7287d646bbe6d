"""Jobs are found by name, and in files; what is none is told in a line."""

import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from barnabas.pipeline.catalogue import NoSuchJobError, built_in_jobs, describe, find_job
from barnabas.pipeline.job import Job, Mode, TableOutput, TopicInput

EXAMPLE = Path(__file__).parents[3] / "docs/examples/slow_pages.py"


def test_every_job_of_the_package_says_what_it_does_and_why():
    for name, job in built_in_jobs().items():
        assert job.name == name
        assert job.does
        assert job.inputs
        assert len(describe(job)) > 200
        assert len({(type(output), output.name) for output in job.outputs}) == len(job.outputs)


def test_a_job_in_a_file_is_found():
    job = find_job(str(EXAMPLE))
    assert job.name == "slow-pages"
    assert describe(job).startswith("Slow pages: ")


def test_the_earlier_names_of_aggregates_work_with_one_warning(tmp_path: Path):
    file = tmp_path / "old.py"
    arguments = "digest=lambda frames, parameters: {}, unit_s=60"
    file.write_text(f"from barnabas.pipeline.job import Job\nJOB = Job('old', 'does', (), (), {arguments})\n")
    with pytest.warns(FutureWarning, match="job old: digest is now aggregate, unit_s is now window_s") as warned:
        job = find_job(str(file))
    assert [each.filename for each in warned] == [str(file)]
    assert job.aggregate is not None
    assert job.window_s == 60
    assert replace(job, name="new").window_s == 60
    assert pickle.loads(pickle.dumps(replace(job, aggregate=None))).window_s == 60
    assert Mode.DIGEST is Mode.AGGREGATE
    assert Job("new", "does", (), ()).window_s == 3600


def test_names_that_are_none_are_told_with_those_that_are():
    with pytest.raises(NoSuchJobError, match=r"job reportin does not exist: use one of .*reporting"):
        find_job("reportin")


@pytest.mark.parametrize(
    ("text", "reason"), [("x = 1", "declares no JOB"), ("import nothing_there", "ModuleNotFoundError")]
)
def test_a_file_without_a_job_is_told(tmp_path, text, reason):
    file = tmp_path / "my_job.py"
    file.write_text(text)
    with pytest.raises(NoSuchJobError, match=reason):
        find_job(str(file))
    with pytest.raises(NoSuchJobError, match="the file does not exist"):
        find_job(str(tmp_path / "other.py"))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ("inputs=(VIEWS), outputs=()", "job j: inputs must be a tuple of TopicInput or TableInput"),
        ("inputs=(VIEWS,), outputs=TableOutput('t')", "job j: outputs must be a tuple of TopicOutput or TableOutput"),
        ("inputs=(VIEWS,), outputs=(), parameters=(Parameter('a', 1, ''))", "job j: parameters must be a tuple"),
        ("inputs=(TopicInput('v', 'page_view'),), outputs=()", "job j: event of input v must be an EventType"),
        ("inputs=(), outputs=(TopicOutput('t', ('id')),)", "job j: key of output t must be a tuple"),
        ("inputs=(), outputs=(TableOutput('t', partition_by='id'),)", "job j: partition_by of output t must be a"),
    ],
)
def test_a_declaration_with_a_missing_comma_is_told(tmp_path: Path, fields: str, reason: str):
    file = tmp_path / "my_job.py"
    head = "from barnabas.pipeline.job import *\nfrom barnabas.pipeline.events import EVENT_TYPES\n"
    views = "VIEWS = TopicInput('views', EVENT_TYPES['page_view'])\n"
    file.write_text(f"{head}{views}JOB = Job('j', 'does', {fields})\n")
    with pytest.raises(NoSuchJobError, match=f"can't be loaded: TypeError: {reason}"):
        find_job(str(file))


def test_a_declaration_may_be_made_by_a_generator():
    inputs: Any = (TopicInput(name, None) for name in "ab")
    job = Job("j", "does", inputs, (TableOutput("t"),))
    assert [[each.name for each in job.inputs] for _ in range(2)] == [["a", "b"], ["a", "b"]]


def test_a_run_needs_delta_rs_only_for_delta_tables_and_object_stores() -> None:
    text = "import sys; sys.modules['deltalake'] = None; import barnabas.pipeline.runner.supervisor"
    subprocess.run([sys.executable, "-c", text], check=True)
