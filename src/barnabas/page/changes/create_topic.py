"""Create a topic."""

from typing import Final

from barnabas.clients.admin_topics import NewTopic, TopicAdmin
from barnabas.core.advised_commands import Word, command
from barnabas.core.errors import BarnabasError
from barnabas.page.changes.change import Change, Field, Plan, Row, needed, number, text
from barnabas.page.view import Asked

_TOPIC: Final = Field("topic", "Topic")
_PARTITIONS: Final = Field("partitions", "Partitions", "Empty: the broker's num.partitions.", is_optional=True)
_REPLICAS: Final = Field("replicas", "Replicas", "Empty: default.replication.factor.", is_optional=True)
_SETTINGS: Final = Field("settings", "Settings", "As name=value, separated by blanks.", is_optional=True)


async def preview(asked: Asked) -> Plan:
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


CHANGE = Change("/change/create-topic", "Create a topic", (_TOPIC, _PARTITIONS, _REPLICAS, _SETTINGS), preview)
