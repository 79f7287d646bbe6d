"""Which facts a job keeps, by what its table's commits say."""

from typing import Any, cast

from barnabas.pipeline.runner.retention import Retention
from barnabas.pipeline.tables.table import Progress, Table


class Commits:
    """The progress of each run in a table."""

    def __init__(self, *there: Progress) -> None:
        self.runs = {each.run: each for each in there}

    def progress(self, run: str) -> Progress | None:
        return self.runs.get(run)

    def delete_rows(self, offsets: Any, progress: Progress, where: str) -> int:
        self.runs[progress.run] = progress
        return 0


def retention(job: str, table: Commits) -> Retention:
    return Retention(job, cast(Table, table), 3600, None)


def test_each_job_has_a_transaction_id_of_its_own():
    table = Commits()
    for job, unit in [("ranking", 5), ("ranking", 6), ("reporting", 2)]:
        retention(job, table).delete(unit, "true")
    assert {run: each.sequence for run, each in table.runs.items()} == {
        "keep-facts/ranking": 2,
        "keep-facts/reporting": 1,
    }
    assert [retention(job, table).first_window for job in ("ranking", "reporting", "feed")] == [6, 2, None]


def test_what_an_earlier_release_deleted_stays_known():
    table = Commits(Progress("keep-facts", 7, "", {"unit": {0: 3}}, {}))
    assert retention("ranking", table).first_window == 3
    retention("ranking", table).delete(4, "true")
    assert (retention("ranking", table).first_window, table.runs["keep-facts/ranking"].sequence) == (4, 1)
