"""Where Spark runs, and into how many tasks work is cut there."""

import pytest

from barnabas.pipeline.runner.session import SessionOptions, placement


@pytest.mark.parametrize(
    ("run_count", "core_count", "master", "parallelism"),
    [(0, 2, "local[2]", "2"), (1, 1, "local[2]", "2"), (6, 2, "local[12]", "2"), (6, 4, "local[12]", "4")],
)
def test_runs_have_two_slots_each_and_work_is_cut_for_the_cores(
    run_count: int, core_count: int, master: str, parallelism: str
) -> None:
    assert placement(SessionOptions("delta"), run_count, core_count) == {
        "spark.master": master,
        "spark.default.parallelism": parallelism,
    }


def test_who_names_a_master_has_its_parallelism() -> None:
    assert placement(SessionOptions("delta", master="yarn"), 6, 2) == {"spark.master": "yarn"}
    assert placement(SessionOptions("delta", settings={"spark.master": "yarn"}), 6, 2) == {}
