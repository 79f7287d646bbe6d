"""Delete a topic and all its records."""

from typing import Final

from barnabas.clients.admin_topics import TopicAdmin
from barnabas.core.advised_commands import command
from barnabas.explain.formatting import count
from barnabas.page.changes.change import Change, Field, Plan, Row, needed, pattern
from barnabas.page.changes.topic import known_topic
from barnabas.page.view import Asked

_TOPIC: Final = Field("topic", "Topic")


async def preview(asked: Asked) -> Plan:
    """Read the topic."""
    name, admin = needed(asked, _TOPIC), asked.cluster.admin(TopicAdmin)
    topic = await known_topic(admin, name)

    async def carry_out() -> str:
        await admin.delete_topic(name)
        return f"Topic {name} was deleted."

    return Plan(
        (Row(f"topic {name}", count(len(topic.partitions), "partition"), "is gone"),),
        command("topics", "--delete", ("--topic", pattern(name))),
        carry_out,
        loses="All records of the topic are lost.",
        name=name,
    )


CHANGE = Change("/change/delete-topic", "Delete a topic", (_TOPIC,), preview)
