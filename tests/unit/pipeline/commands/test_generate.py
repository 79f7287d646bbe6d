"""A stream of `barnabas pipeline generate` in topics that have changed since its start."""

import argparse

import pytest

from barnabas.clients.positions import PlanError
from barnabas.pipeline.commands import generate
from tests.unit.pipeline.sources.test_feeder import MemoryTopics

OPTIONS = ["--duration", "300", "--users", "100", "--items", "100", "--partitions", "2"]


def test_a_stream_keeps_its_partitions_if_more_are_added() -> None:
    parser = argparse.ArgumentParser()
    generate.add_options(parser)
    arguments = parser.parse_args(OPTIONS)
    plan = generate._plan(arguments)
    whole, topics = MemoryTopics(), MemoryTopics()
    count, _ = generate._send(plan, arguments, whole)
    topics.counts = dict.fromkeys(whole.counts, 5)
    topics.records = {partition: records[: (len(records) + 1) // 2] for partition, records in whole.records.items()}
    there_count = sum(map(len, topics.records.values()))
    assert generate._send(plan, arguments, topics) == (count, there_count)
    assert topics.records == whole.records


@pytest.mark.parametrize("start", ["1772755200000000", "9999-12-31T23:59", "²"])
def test_a_stream_whose_times_do_not_exist_is_refused(start: str) -> None:
    parser = argparse.ArgumentParser()
    generate.add_options(parser)
    with pytest.raises(PlanError):
        generate._plan(parser.parse_args([*OPTIONS, "--start", start]))
