"""Add partitions to a topic."""

from typing import Final

from barnabas.clients.admin_topics import NewPartitions, TopicAdmin
from barnabas.core.advised_commands import command
from barnabas.core.errors import BarnabasError
from barnabas.page.changes.change import Change, Field, Plan, Row, needed, number, pattern
from barnabas.page.changes.topic import known_topic
from barnabas.page.view import Asked

_TOPIC: Final = Field("topic", "Topic")
_PARTITIONS: Final = Field("partitions", "Partitions", "New total number.")


async def preview(asked: Asked) -> Plan:
    """Let the brokers validate the change."""
    name, wanted = needed(asked, _TOPIC), number(asked, _PARTITIONS)
    admin = asked.cluster.admin(TopicAdmin)
    if wanted is None:
        raise BarnabasError(f"{_PARTITIONS.label}: a value is required")
    topic = await known_topic(admin, name)
    changes = {name: NewPartitions(wanted)}
    await admin.create_partitions(changes, validate_only=True)

    async def carry_out() -> str:
        await admin.create_partitions(changes)
        return f"Topic {name} has {wanted} partitions."

    return Plan(
        (Row(f"partitions of {name}", str(len(topic.partitions)), str(wanted)),),
        command("topics", "--alter", ("--topic", pattern(name)), ("--partitions", wanted)),
        carry_out,
        ("New records of a key may go to another partition than the old ones. Partitions cannot be removed.",),
    )


CHANGE = Change("/change/add-partitions", "Add partitions", (_TOPIC, _PARTITIONS), preview)
