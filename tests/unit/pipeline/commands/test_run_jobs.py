"""The plans of `barnabas pipeline run`."""

import argparse

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
