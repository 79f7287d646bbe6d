"""`barnabas pipeline list`: list the jobs, or show the details of one."""

import argparse
import json

from rich.console import Console
from rich.table import Table

from barnabas.pipeline.catalogue import built_in_jobs, describe, find_job
from barnabas.pipeline.commands.options import Options
from barnabas.pipeline.job import Job, TableInput, TableOutput, TopicInput, TopicOutput


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    options = Options(parser)
    options.add("job", nargs="?", help="a job's name, or a .py file that declares one")
    options.flag("--json", "print JSON for scripts")


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    if arguments.job:
        job = find_job(arguments.job)
        print(json.dumps(_as_dict(job), indent=2) if arguments.json else _about(job))
    elif arguments.json:
        print(json.dumps([_as_dict(job) for job in built_in_jobs().values()], indent=2))
    else:
        _print_table(list(built_in_jobs().values()))
    return 0


def _print_table(jobs: list[Job]) -> None:
    table = Table(box=None, pad_edge=False)
    for head in ("job", "does", "reads", "writes"):
        table.add_column(head, overflow="fold")
    for job in jobs:
        table.add_row(
            job.name,
            job.does,
            ", ".join(_input_name(each) for each in job.inputs),
            ", ".join(_output_name(each) for each in job.outputs),
        )
    Console().print(table)


def _about(job: Job) -> str:
    lines = [f"{job.name}: {job.does}", ""]
    lines += ["reads"] + [f"  {_input_name(each)}" for each in job.inputs]
    lines += ["writes"] + [f"  {_output_name(each)}" for each in job.outputs]
    if job.parameters:
        lines += ["parameters (--set NAME=VALUE)"]
        lines += [f"  {each.name} = {each.default!r}: {each.meaning}" for each in job.parameters]
    return "\n".join([*lines, "", describe(job)])


def _input_name(declared: TopicInput | TableInput) -> str:
    if isinstance(declared, TableInput):
        return f"table {declared.name} of {declared.job}"
    return declared.topic or (declared.event.topic if declared.event else "any topics")


def _output_name(declared: TopicOutput | TableOutput) -> str:
    if isinstance(declared, TableOutput):
        name = "a table per topic" if declared.name == "*" else f"table {declared.name}"
        return f"{name} ({declared.mode.value})"
    kind = ", compacted" if declared.is_compacted else ""
    return f"topic {declared.topic or declared.name} (keyed by {', '.join(declared.key)}{kind})"


def _as_dict(job: Job) -> dict[str, object]:
    return {
        "name": job.name,
        "does": job.does,
        "reads": [_input_name(each) for each in job.inputs],
        "writes": [_output_name(each) for each in job.outputs],
        "parameters": {each.name: each.default for each in job.parameters},
    }
