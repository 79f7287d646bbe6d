"""Where Spark runs, into how many tasks work is cut there, and the memory for it."""

import pytest

from barnabas.pipeline.runner.session import SessionOptions, placement


@pytest.mark.parametrize(
    ("run_count", "core_count", "master", "memory"),
    [
        (0, 2, "local[2]", "1024m"),
        (1, 1, "local[2]", "1024m"),
        (6, 2, "local[2]", "2304m"),
        (6, 4, "local[4]", "2304m"),
    ],
)
def test_a_core_has_a_slot_and_each_run_has_memory(run_count: int, core_count: int, master: str, memory: str) -> None:
    assert placement(SessionOptions("delta"), run_count, core_count) == {
        "spark.master": master,
        "spark.driver.memory": memory,
    }


def test_who_names_a_master_has_its_parallelism() -> None:
    assert placement(SessionOptions("delta", master="yarn"), 6, 2) == {"spark.master": "yarn"}
    assert placement(SessionOptions("delta", settings={"spark.master": "yarn"}), 6, 2) == {}
