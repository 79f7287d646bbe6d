"""The size limits of what groups store, with a real log: whatever is acknowledged is still there after a restart."""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from barnabas.broker.groups.coordinator import GroupCoordinator
from barnabas.broker.groups.events import Commit, Join, Sync
from barnabas.broker.groups.group import CommittedOffset
from barnabas.core.error_code import ErrorCode
from barnabas.core.executor import InlineExecutor
from barnabas.core.types import TopicPartition
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.record import MAX_UNCOMPRESSED_BYTES
from tests.unit.broker.groups.conftest import RANGE
from tests.unit.broker.requests.conftest import DataPath

LONG_NAME = "g" * 32_000
ABOVE_THE_UNCOMPRESSED_LIMIT = MAX_UNCOMPRESSED_BYTES // len(LONG_NAME) + 1


@pytest.fixture
def open_path(tmp_path: Path) -> Iterator[Callable[[Codec], DataPath]]:
    paths = []

    def opened(codec: Codec) -> DataPath:
        path = DataPath(tmp_path, **{"offsets.topic.compression.codec": str(int(codec))})
        paths.append(path)
        path.create("__consumer_offsets", cleanup_policy="compact", segment_bytes=100 << 20)
        return path

    yield opened
    for path in paths:
        path.stop()


def start(path: DataPath) -> GroupCoordinator:
    groups = GroupCoordinator(path.config, path.clock, path.clock, InlineExecutor(), path.replicas, 1, Random(1))
    groups.start()
    groups.on_partition_leader(0, 1)
    return groups


@pytest.mark.parametrize(
    ("codec", "group_id", "count", "metadata", "error_code"),
    [
        (Codec.NONE, "g", 200, "m" * 4_096, ErrorCode.NONE),
        (Codec.NONE, "g", 300, "m" * 4_096, ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
        (Codec.NONE, LONG_NAME, 40, "", ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
        # max.message.bytes limits the compressed size.
        (Codec.ZSTD, "g", 300, "m" * 4_096, ErrorCode.NONE),
        (Codec.ZSTD, LONG_NAME, ABOVE_THE_UNCOMPRESSED_LIMIT, "", ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
    ],
)
def test_a_commit_is_refused_or_survives_a_restart(open_path, codec, group_id, count, metadata, error_code):
    path = open_path(codec)
    groups = start(path)
    offsets = {TopicPartition("t", index): CommittedOffset(7, metadata=metadata) for index in range(count)}
    assert groups.commit(group_id, Commit("", -1, offsets)).value is error_code
    for _ in range(2):
        found = groups.fetch_offsets(group_id, None)[1]
        assert len(found) == (0 if error_code else count)
        groups.close()
        groups = start(path)
    groups.close()


def test_assignments_that_are_too_large_are_refused(open_path):
    path = open_path(Codec.NONE)
    groups = start(path)
    joined = groups.join("g", Join("", "m1", False, "c", "/h", 60_000, 10_000, "consumer", RANGE))
    for _ in range(2):
        path.clock.advance(3_000)
    synced = groups.sync("g", Sync("m1", joined.value.generation, {"m1": bytes(2_000_000)}))
    assert synced.value.error_code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert path.log("__consumer_offsets").log_end_offset == 0
    groups.close()
