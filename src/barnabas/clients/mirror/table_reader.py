"""Reads the committed records of a mirror's offset table, whatever transactions are still open.

A read_committed reader sees nothing beyond the first open transaction. In this table that transaction could belong to
any partition, and writers waiting for their places would wait for each other. Therefore the table is read up to its
high watermark, and each transaction counts once its own marker has been read. All of a writer's own markers come before
its InitProducerId response.

If two producers with two coordinators write transactions for one partition, the later transaction's marker may come
first. Therefore the record with the highest offset counts for each key, as in compaction.

Source: KIP-98; protocol guide, Fetch.
"""

from barnabas.clients.admin import EARLIEST, LATEST, Admin
from barnabas.clients.batch_reader import read_batches
from barnabas.clients.mirror.offsets import TABLE_TOPIC, MirrorOffsets
from barnabas.clients.mirror.plan import PATIENCE_MS
from barnabas.clients.pool import Pool
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.wire.records.control import MarkerType, read_marker
from barnabas.wire.records.record import Record, iterate_records

_TABLE = TopicPartition(TABLE_TOPIC, 0)


async def read_table(pool: Pool, offsets: MirrorOffsets, from_offset: int) -> int:
    """Apply the table's committed records from an offset up to its current high watermark.

    Records may be applied again: the last record of each key counts.

    Args:
        pool: The connections to the table's cluster.
        offsets: The known content, which is updated.
        from_offset: First offset to read. An offset below the log's start or beyond its end means the log's start.

    Returns:
        The offset to pass to the next call: the first offset of a transaction that is still open, or the end; 0 if the
        table does not exist.

    Raises:
        KafkaError: The table cannot be read.
        CorruptRecordsError: It contains invalid batches.
    """
    admin = Admin(pool, PATIENCE_MS)
    try:
        (start,) = (await admin.offsets([_TABLE], EARLIEST)).values()
        (end,) = (await admin.offsets([_TABLE], LATEST)).values()
    except KafkaError as error:
        if error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return 0
        raise
    position = from_offset if start <= from_offset <= end else start
    pending: dict[int, list[Record]] = {}
    newest: dict[bytes | None, int] = {}

    def apply(records: list[Record]) -> None:
        for record in records:
            if record.offset > newest.get(record.key, -1):
                newest[record.key] = record.offset
                offsets.apply(record.key, record.value)

    async for header, batch in read_batches(admin, _TABLE, position, end):
        records = iterate_records(batch)
        if header.is_control:
            marker = next((read_marker(record) for record in records), None)
            decided = pending.pop(header.producer_id, [])
            if marker is not None and marker.marker_type is MarkerType.COMMIT:
                apply(decided)
        elif header.is_transactional:
            pending.setdefault(header.producer_id, []).extend(records)
        else:
            apply(list(records))
    return min((records[0].offset for records in pending.values() if records), default=end)
