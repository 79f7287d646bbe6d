"""The plans of `barnabas pipeline run`."""

import argparse
from typing import Any, cast

import pytest

from barnabas.pipeline.catalogue import find_job
from barnabas.pipeline.commands import run_jobs


def test_a_plan_knows_the_other_form_of_its_name() -> None:
    parser = argparse.ArgumentParser()
    run_jobs.add_options(parser)
    words = ["--topics", "orders", "--as", "prod", "--format", "delta"]
    alone, together = (
        run_jobs._plan(parser.parse_args([*jobs, *words]), find_job("load")) for jobs in (["load"], ["load", "ranking"])
    )
    assert (alone.run, alone.other_run) == (together.other_run, together.run) == ("prod", "prod/load")


def test_a_run_that_is_stopped_before_its_first_refresh_has_no_summary(capsys: pytest.CaptureFixture[str]) -> None:
    job = find_job("ranking")
    run_jobs._print_summary(job, {"ranking_facts": cast(Any, None)}, job.defaults())
    assert capsys.readouterr().out == "ranking: nothing yet\n"
