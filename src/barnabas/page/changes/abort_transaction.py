"""Abort a hanging transaction: the same as `barnabas transactions abort`."""

from typing import Final

from barnabas.clients.admin_transactions import TransactionAdmin
from barnabas.core.advised_commands import command
from barnabas.core.types import TopicPartition
from barnabas.page.changes.change import Change, Field, Plan, Row, needed, needed_number
from barnabas.page.view import Asked

_TOPIC: Final = Field("topic", "Topic")
_PARTITION: Final = Field("partition", "Partition")
_START: Final = Field("offset", "From offset", "The offset of its first record in the partition.")


async def preview(asked: Asked) -> Plan:
    """Find the transaction, and check that no transaction coordinator will end it."""
    topic, admin = needed(asked, _TOPIC), asked.cluster.admin(TransactionAdmin)
    partition, start = TopicPartition(topic, needed_number(asked, _PARTITION)), needed_number(asked, _START)
    transaction = await admin.find_hanging(partition, lambda each: each.first_offset == start)

    async def carry_out() -> str:
        await admin.check_hanging(transaction)
        await admin.abort(transaction)
        return f"Aborted {transaction}."

    options = (("--topic", topic), ("--partition", partition.partition), ("--start-offset", start))
    return Plan(
        (Row(str(transaction), "is open", "is aborted"),),
        command("transactions", "abort", *options, "--yes"),
        carry_out,
        loses="read_committed consumers never see its records.",
        name=str(partition),
    )


CHANGE: Final = Change(
    "/change/abort-transaction", "Abort a hanging transaction", (_TOPIC, _PARTITION, _START), preview
)
