"""The made-up log: always the same, readable, and as far out of order as real ones."""

from pathlib import Path

from barnabas.pipeline.sources.access_log import survey
from barnabas.pipeline.sources.sample import LINE_COUNT, sample_lines, write_sample


def test_sample_is_always_the_same():
    assert list(sample_lines(50)) == list(sample_lines(50))
    first = next(sample_lines())
    assert first.startswith("192.0.2.")
    assert list(sample_lines(50, seed=1)) != list(sample_lines(50, seed=2))


def test_every_line_is_a_view_and_few_are_in_order(tmp_path: Path):
    write_sample(tmp_path / "access.log")
    found = survey(tmp_path / "access.log")
    assert found.line_count == found.view_count == LINE_COUNT
    assert 30 <= found.disorder_s < 60
