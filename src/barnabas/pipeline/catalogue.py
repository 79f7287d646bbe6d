"""Finds jobs: the built-in jobs of `barnabas.pipeline.jobs`, and Python files that declare a `JOB`."""

import importlib
import importlib.util
import pkgutil
import sys
from pathlib import Path

from barnabas.pipeline import jobs
from barnabas.pipeline.job import Job


class NoSuchJobError(Exception):
    """No job has this name, or the file declares no valid job. The message is one line."""


def built_in_jobs() -> dict[str, Job]:
    """Return the built-in jobs, by name."""
    found = {}
    for module in pkgutil.iter_modules(jobs.__path__):
        job = getattr(importlib.import_module(f"{jobs.__name__}.{module.name}"), "JOB", None)
        if isinstance(job, Job):
            found[job.name] = job
    return dict(sorted(found.items()))


def find_job(name: str) -> Job:
    """Return a job by its name or its Python file; raise NoSuchJobError if it does not exist."""
    if name.endswith(".py"):
        return _job_of_file(Path(name))
    known = built_in_jobs()
    if name not in known:
        raise NoSuchJobError(
            f"job {name} does not exist: use one of {', '.join(known)}, or a .py file that declares JOB"
        )
    return known[name]


def describe(job: Job) -> str:
    """Return the docstring of the module that declares a job."""
    # Search modules of jobs only: other modules may have imported the job.
    declares = (
        module
        for name, module in list(sys.modules.items())
        if name.startswith(("barnabas.pipeline.jobs.", "barnabas_job_")) and getattr(module, "JOB", None) is job
    )
    return (getattr(next(declares, None), "__doc__", None) or "").strip()


def _job_of_file(path: Path) -> Job:
    if not path.is_file():
        raise NoSuchJobError(f"{path}: the file does not exist")
    from pyspark.cloudpickle import register_pickle_by_value

    # `describe` finds the module by this name.
    name = f"barnabas_job_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    # Workers cannot import the module.
    register_pickle_by_value(module)  # type: ignore[no-untyped-call]  # pyspark does not type it
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise NoSuchJobError(f"{path} can't be loaded: {type(error).__name__}: {error}") from error
    job = getattr(module, "JOB", None)
    if not isinstance(job, Job):
        raise NoSuchJobError(f"{path} declares no JOB of type barnabas.pipeline.job.Job")
    return job
