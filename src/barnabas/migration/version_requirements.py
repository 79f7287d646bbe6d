"""Finds the contents of logs that need at least some Kafka version to be read. Read-only.

| contents | needs |
| --- | --- |
| a message of format 1, a batch of format 2 | 0.10.0, 0.11.0 |
| a batch that is compressed with zstd | 2.1 |
| in `__consumer_offsets`: the value of an offset or a group | by its version |

A version of Kafka that is too old reports no error: it treats unreadable data as the end of a log and reuses its
offsets, or drops the groups of a whole partition of `__consumer_offsets` because of one record.

Batches are judged by their headers; records are unpacked only in `__consumer_offsets`. There every record counts, also
replaced ones, because Kafka reads them all.

Source: core/config/versions.py; Kafka 0.10.2.2, 0.11.0.3, 1.1.1 and 2.3.1, observed to lose such data.
"""

import mmap
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from barnabas.broker.groups.storage import GroupKey, OffsetKey, decode_key
from barnabas.broker.log.disk.files import storage_errors
from barnabas.broker.log.file_names import LOG_SUFFIX
from barnabas.core.config.versions import KafkaVersion, oldest_version
from barnabas.core.errors import ConfigError, ProtocolError
from barnabas.core.internal_topics import GROUP_OFFSETS_TOPIC
from barnabas.core.types import TopicPartition
from barnabas.inspection.log_listing import list_log
from barnabas.wire.records.batch import CODEC_MASK, LOG_OVERHEAD, MAGIC, MAGIC_POSITION, Codec
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.formats import iterate_any_records
from barnabas.wire.records.record import Record

_OFFSET_AND_LENGTH = Struct(">qi")
_VALUE_VERSION = Struct(">h")
# The low byte of a batch's attributes, and a message's whole attributes.
_CODEC_POSITIONS = (17, 17, 22)
_LEAST_HEAD_BYTES = 23


class Batch(NamedTuple):
    """The header of a batch or message.

    Attributes:
        offset: Stored offset: a batch's first, a message's own or last.
    """

    offset: int
    magic: int
    codec: int
    position: int
    size: int


@dataclass(slots=True)
class Requirement:
    """Contents that need a Kafka version.

    Attributes:
        topic_partition, offset: First occurrence.
        what: Description of the contents.
        groups: Ids of the affected groups, in the order found.
    """

    version: KafkaVersion
    topic_partition: TopicPartition
    offset: int
    what: str
    groups: list[str] = field(default_factory=list)


Requirements = dict[KafkaVersion, Requirement]
"""The first occurrence of contents that need a version, by version."""


@lru_cache
def reader_of_batch(magic: int, codec: int) -> KafkaVersion:
    """Return the oldest Kafka version that reads batches of a format and codec."""
    has_zstd = magic == MAGIC and codec == Codec.ZSTD
    return oldest_version(lambda version: version.magic >= magic and (version.has_zstd or not has_zstd))


@lru_cache
def reader_of_value(is_group: bool, value_version: int) -> KafkaVersion:
    """Return the oldest Kafka version that reads values of `__consumer_offsets` of a version.

    Raises:
        ConfigError: No version up to 2.7 reads it.
    """
    return oldest_version(
        lambda version: (version.group_value_version if is_group else version.offset_value_version) >= value_version
    )


@lru_cache
def newest_requirement(topic: str) -> KafkaVersion:
    """Return the oldest version that can read all possible contents of a topic's logs."""
    return oldest_version(
        lambda version: (
            version.has_zstd and (topic != GROUP_OFFSETS_TOPIC or version.group_value_version >= _NEWEST_GROUP_VALUE)
        )
    )


def find_requirements(topic_partition: TopicPartition, log: Path, above: KafkaVersion) -> Requirements:
    """Find the contents of a log that a version can't read.

    Args:
        topic_partition: Partition of the log.
        log: Directory of the log.
        above: The version.

    Raises:
        StorageError: A file can't be read.
    """
    needs: Requirements = {}
    if above >= newest_requirement(topic_partition.topic):
        return needs
    listing = list_log(log)
    for base_offset in listing.segments:
        path = listing.file(base_offset, LOG_SUFFIX)
        with storage_errors(path), path.open("rb") as file:
            if not listing.sizes[path.name]:
                continue
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                _look_at_segment(needs, topic_partition, data, above)
    return needs


def batch_heads(data: mmap.mmap | bytes) -> Iterator[Batch]:
    """Iterate over the headers of whole batches and messages in a segment's bytes, up to the first invalid one."""
    size = len(data)
    position = 0
    while size - position >= _LEAST_HEAD_BYTES:
        offset, length = _OFFSET_AND_LENGTH.unpack_from(data, position)
        magic = data[position + MAGIC_POSITION]
        end = position + LOG_OVERHEAD + length
        # A preallocated file ends in zeros; the next start truncates a torn end.
        if length <= 0 or magic > MAGIC or end > size:
            return
        yield Batch(offset, magic, data[position + _CODEC_POSITIONS[magic]] & CODEC_MASK, position, end - position)
        position = end


def _look_at_segment(
    needs: Requirements, topic_partition: TopicPartition, data: mmap.mmap, above: KafkaVersion
) -> None:
    has_values = topic_partition.topic == GROUP_OFFSETS_TOPIC
    for batch in batch_heads(data):
        version = reader_of_batch(batch.magic, batch.codec)
        if version > above and version not in needs:
            kind = f"a {'batch' if batch.magic == MAGIC else 'message'} of format {batch.magic}"
            what = "a batch compressed with zstd" if version >= reader_of_batch(MAGIC, Codec.ZSTD) else kind
            needs[version] = Requirement(version, topic_partition, batch.offset, what)
        if has_values:
            try:
                for record in iterate_any_records(data[batch.position : batch.position + batch.size]):
                    _look_at_value(needs, topic_partition, record, above)
            except CorruptRecordsError:
                # The next start truncates a torn end.
                return


def _look_at_value(needs: Requirements, topic_partition: TopicPartition, record: Record, above: KafkaVersion) -> None:
    if record.value is None or len(record.value) < _VALUE_VERSION.size:
        return
    try:
        key = decode_key(record.key or b"")
        is_group = isinstance(key, GroupKey)
        version = reader_of_value(is_group, _VALUE_VERSION.unpack_from(record.value)[0])
    except (ProtocolError, ConfigError):
        # A transaction marker, or a record that no Kafka up to 2.7 wrote: the broker skipped it too.
        return
    if version <= above or not isinstance(key, GroupKey | OffsetKey):
        return
    need = needs.get(version)
    if need is None:
        what = f"{'the metadata' if is_group else 'an offset'} of group {key.group_id}"
        need = needs[version] = Requirement(version, topic_partition, record.offset, what)
    if key.group_id not in need.groups:
        need.groups.append(key.group_id)


_NEWEST_GROUP_VALUE = 3
