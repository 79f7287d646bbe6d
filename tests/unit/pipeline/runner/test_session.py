"""Where Spark runs, into how many tasks work is cut there, and the memory for it."""

import pytest

from barnabas.pipeline.runner.session import SessionOptions, placement


@pytest.mark.parametrize(
    ("run_count", "core_count", "master", "parallelism", "memory"),
    [
        (0, 2, "local[2]", "2", "1024m"),
        (1, 1, "local[2]", "2", "1024m"),
        (6, 2, "local[12]", "2", "3584m"),
        (6, 4, "local[12]", "4", "3584m"),
    ],
)
def test_runs_have_two_slots_and_memory_each_and_work_is_cut_for_the_cores(
    run_count: int, core_count: int, master: str, parallelism: str, memory: str
) -> None:
    assert placement(SessionOptions("delta"), run_count, core_count) == {
        "spark.master": master,
        "spark.default.parallelism": parallelism,
        "spark.driver.memory": memory,
    }


def test_who_names_a_master_has_its_parallelism() -> None:
    assert placement(SessionOptions("delta", master="yarn"), 6, 2) == {"spark.master": "yarn"}
    assert placement(SessionOptions("delta", settings={"spark.master": "yarn"}), 6, 2) == {}
