"""Delete the records of a partition below an offset."""

import json
from typing import Final

from barnabas.clients.admin_calls import EARLIEST, LATEST
from barnabas.clients.admin_offsets import OffsetAdmin
from barnabas.core.advised_commands import command, quote
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.types import TopicPartition
from barnabas.explain.formatting import count
from barnabas.page.changes.change import Change, Field, Plan, Row, needed, needed_number, number
from barnabas.page.view import Asked

_TOPIC: Final = Field("topic", "Topic")
_PARTITION: Final = Field("partition", "Partition")
_BEFORE: Final = Field("offset", "Below the offset", "Empty: all records that exist now.", is_optional=True)


async def preview(asked: Asked) -> Plan:
    """Read the partition's start and end."""
    partition = TopicPartition(needed(asked, _TOPIC), needed_number(asked, _PARTITION))
    admin = asked.cluster.admin(OffsetAdmin)
    first = (await admin.offsets([partition], EARLIEST))[partition]
    end = (await admin.offsets([partition], LATEST))[partition]
    offset = number(asked, _BEFORE, 0)
    offset = end if offset is None else offset
    if not first < offset <= end:
        raise BarnabasError(f"{_BEFORE.label}: {partition} has offsets {first} to {end}: name one above the first")

    async def carry_out() -> str:
        result = (await admin.delete_records({partition: offset}))[partition]
        if isinstance(result, KafkaError):
            raise result
        return f"{partition} begins at offset {result} now."

    named = {"topic": partition.topic, "partition": partition.partition, "offset": offset}
    file = json.dumps({"version": 1, "partitions": [named]}, separators=(",", ":"))
    return Plan(
        (Row(f"first offset of {partition}", str(first), str(offset)),),
        f"echo {quote(file)} | {command('delete-records', ('--offset-json-file', '/dev/stdin'))}",
        carry_out,
        loses=f"Lost records: up to {count(offset - first, 'record')}.",
        name=str(partition),
    )


CHANGE: Final = Change("/change/delete-records", "Delete records", (_TOPIC, _PARTITION, _BEFORE), preview)
