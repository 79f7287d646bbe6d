"""What in a log needs a Kafka that is new enough."""

from pathlib import Path

import pytest

from barnabas.broker.groups.group import CommittedOffset, Group, GroupSettings
from barnabas.broker.groups.storage import group_batch, offsets_batch, tombstone_batches
from barnabas.core.config.versions import OLDEST, KafkaVersion, kafka_version
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC
from barnabas.core.types import TopicPartition
from barnabas.migration.version_requirements import Requirements, find_requirements
from barnabas.wire.records.batch import Codec, set_base_offset
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.message_set import MessageSetBuilder

T0 = TopicPartition("t", 0)
OFFSETS = TopicPartition(GROUP_OFFSETS_TOPIC, 3)


def batch(offset: int, codec: Codec = Codec.NONE) -> bytes:
    builder = BatchBuilder(codec)
    builder.append(0, b"key", b"value" * 10)
    return bytes(builder.build(offset))


def messages(magic: int, offset: int, codec: Codec = Codec.NONE) -> bytes:
    builder = MessageSetBuilder(magic, codec)
    builder.append(offset, 0, b"key", b"value" * 10)
    return bytes(builder.build())


def group(reader: KafkaVersion, name: str = "g") -> bytes:
    return bytes(group_batch(Group(name, GroupSettings(), generation=1), {}, 0, Codec.GZIP, reader))


def commits(reader: KafkaVersion, name: str = "g") -> bytes:
    return bytes(offsets_batch(name, {T0: CommittedOffset(5)}, 0, Codec.NONE, reader))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    directory = tmp_path / "t-0"
    directory.mkdir()
    return directory


def needs(
    log: Path, *parts: bytes, above: KafkaVersion = OLDEST, topic_partition: TopicPartition = T0
) -> dict[str, tuple[int, str]]:
    (log / f"{0:020}.log").write_bytes(b"".join(parts))
    return shown(find_requirements(topic_partition, log, above))


def shown(found: Requirements) -> dict[str, tuple[int, str]]:
    return {need.version.name: (need.offset, need.what) for need in found.values()}


def test_formats_and_codecs_need_the_kafka_that_brought_them(log: Path) -> None:
    parts = [messages(0, 0), messages(1, 1, Codec.GZIP), batch(2), batch(3), batch(4, Codec.ZSTD), batch(5)]
    assert needs(log, *parts) == {
        "0.10.0-IV0": (1, "a message of format 1"),
        "0.11.0-IV0": (2, "a batch of format 2"),
        "2.1-IV0": (4, "a batch compressed with zstd"),
    }
    assert needs(log, *parts, above=kafka_version("0.11.0")).keys() == {"2.1-IV0"}
    assert needs(log, *parts, above=kafka_version("2.1")) == {}


def test_every_segment_is_looked_at(log: Path) -> None:
    (log / f"{10:020}.log").write_bytes(batch(10, Codec.ZSTD))
    (log / f"{20:020}.log").write_bytes(b"")
    assert needs(log, messages(1, 0), above=kafka_version("0.10.2")) == {
        "2.1-IV0": (10, "a batch compressed with zstd")
    }


@pytest.mark.parametrize(
    ("writer", "for_groups", "for_offsets"),
    [
        ("0.10.0", {}, {}),
        ("0.10.2", {"0.10.1-IV0"}, {}),
        ("1.1", {"0.10.1-IV0"}, {}),
        ("2.1-IV0", {"2.1-IV0"}, {"2.1-IV0"}),
        ("2.2", {"2.1-IV0"}, {"2.1-IV1"}),
        ("2.7", {"2.3-IV0"}, {"2.1-IV1"}),
    ],
)
def test_values_need_the_kafka_that_writes_them(log: Path, writer: str, for_groups: set, for_offsets: set) -> None:
    reader = kafka_version(writer)
    format_2 = {"0.11.0-IV0"}
    assert needs(log, group(reader), topic_partition=OFFSETS).keys() == {*for_groups, *format_2}
    assert needs(log, commits(reader), topic_partition=OFFSETS).keys() == {*for_offsets, *format_2}
    # Elsewhere it would be somebody's data that looks like it.
    assert needs(log, group(reader)).keys() == format_2


def test_values_that_are_replaced_or_removed_count_and_name_their_groups(log: Path) -> None:
    old, new = kafka_version("1.1"), kafka_version("2.7")
    parts = [
        group(new, "a"),
        group(new, "b"),
        group(old, "a"),
        *map(bytes, tombstone_batches("b", [], True, 0, Codec.NONE)),
    ]
    for offset, part in enumerate(parts):
        data = bytearray(part)
        set_base_offset(data, 0, offset)
        parts[offset] = bytes(data)
    (log / f"{0:020}.log").write_bytes(b"".join(parts))
    (need,) = find_requirements(OFFSETS, log, kafka_version("2.2")).values()
    assert (need.offset, need.what, need.groups) == (0, "the metadata of group a", ["a", "b"])


def test_what_is_torn_or_sized_in_advance_ends_the_look(log: Path) -> None:
    assert needs(log, messages(1, 0), bytes(500)).keys() == {"0.10.0-IV0"}
    assert needs(log, messages(1, 0), batch(1)[:40]).keys() == {"0.10.0-IV0"}
    assert needs(log, group(kafka_version("2.7"))[:-3], topic_partition=OFFSETS) == {}


def test_damaged_values_need_nobody(log: Path) -> None:
    builder = BatchBuilder()
    builder.append(0, b"\0\2\0\1g", b"\0\x63" + bytes(20))
    builder.append(0, b"\0\2\0\1g", b"\0")
    builder.append(0, b"\0", b"\0\3")
    builder.append(0, None, b"\0\3")
    assert needs(log, bytes(builder.build()), topic_partition=OFFSETS).keys() == {"0.11.0-IV0"}
