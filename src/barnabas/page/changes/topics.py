"""Create a topic, add partitions to it, or delete it with all its records."""

from typing import Final

from barnabas.clients.admin_topics import NewPartitions, NewTopic, TopicAdmin
from barnabas.clients.pool import TopicMetadata, check_topic
from barnabas.core.advised_commands import Word, command
from barnabas.core.errors import BarnabasError
from barnabas.explain.formatting import count
from barnabas.page.changes.change import Change, Field, Plan, Row, needed, number, pattern, text
from barnabas.page.view import Asked

_TOPIC: Final = Field("topic", "Topic")
_PARTITIONS: Final = Field("partitions", "Partitions", "Empty: the broker's num.partitions.", is_optional=True)
_REPLICAS: Final = Field("replicas", "Replicas", "Empty: default.replication.factor.", is_optional=True)
_SETTINGS: Final = Field("settings", "Settings", "As name=value, separated by blanks.", is_optional=True)
_NEW_TOTAL: Final = Field("partitions", "Partitions", "New total number.")


async def preview_creation(asked: Asked) -> Plan:
    """Let the brokers validate the change."""
    name, admin = needed(asked, _TOPIC), asked.cluster.admin(TopicAdmin)
    partitions, replicas = number(asked, _PARTITIONS), number(asked, _REPLICAS)
    settings = _settings(text(asked, _SETTINGS.name))
    new = NewTopic(name, partitions or -1, replicas or -1, settings)
    await admin.create_topic(new, validate_only=True)

    async def carry_out() -> str:
        await admin.create_topic(new)
        return f"Topic {name} was created."

    counts = [("partitions", "--partitions", partitions), ("replicas per partition", "--replication-factor", replicas)]
    options: list[Word] = [(option, count) for _, option, count in counts if count is not None]
    options += [("--config", f"{key}={value}") for key, value in settings.items()]
    return Plan(
        (
            Row(f"topic {name}", "", "is there"),
            *(Row(what, "", "the broker's default" if count is None else str(count)) for what, _, count in counts),
            *(Row(key, "", value) for key, value in settings.items()),
        ),
        command("topics", "--create", ("--topic", name), *options),
        carry_out,
    )


def _settings(given: str) -> dict[str, str]:
    found = {}
    for each in given.split():
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise BarnabasError(f"{_SETTINGS.label}: write {each[:40]} as name=value")
        found[name] = value
    return found


async def preview_partitions(asked: Asked) -> Plan:
    """Let the brokers validate the change."""
    name, wanted = needed(asked, _TOPIC), number(asked, _NEW_TOTAL)
    admin = asked.cluster.admin(TopicAdmin)
    if wanted is None:
        raise BarnabasError(f"{_NEW_TOTAL.label}: a value is required")
    topic = await _known_topic(admin, name)
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


async def preview_deletion(asked: Asked) -> Plan:
    """Read the topic."""
    name, admin = needed(asked, _TOPIC), asked.cluster.admin(TopicAdmin)
    topic = await _known_topic(admin, name)

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


async def _known_topic(admin: TopicAdmin, name: str) -> TopicMetadata:
    """Return a topic. Raises KafkaError: it does not exist, or may not be seen."""
    return check_topic(name, (await admin.topics([name])).get(name))


CREATE = Change("/change/create-topic", "Create a topic", (_TOPIC, _PARTITIONS, _REPLICAS, _SETTINGS), preview_creation)
ADD_PARTITIONS = Change("/change/add-partitions", "Add partitions", (_TOPIC, _NEW_TOTAL), preview_partitions)
DELETE = Change("/change/delete-topic", "Delete a topic", (_TOPIC,), preview_deletion)
