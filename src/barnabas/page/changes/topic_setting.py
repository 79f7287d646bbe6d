"""Set a topic's setting, or unset it."""

from typing import Final

from barnabas.clients.admin_configs import (
    ConfigAdmin,
    ConfigChange,
    ConfigOperation,
    ConfigResource,
    ConfigSource,
    ResourceType,
)
from barnabas.core.errors import BarnabasError
from barnabas.page.changes.change import Change, Field, Plan, Row, choice, command, needed, text
from barnabas.page.view import Asked

_TOPIC: Final = Field("topic", "Topic")
_HOW: Final = Field("how", "What to do", choices=("set", "unset"))
_SETTING: Final = Field("setting", "Setting", "Such as retention.ms.")
_VALUE: Final = Field("value", "Value", "Empty where it is unset.", is_optional=True)
# By these a broker may remove records that it would have kept.
_LOSING: Final = ("cleanup.policy", "delete.retention.ms", "retention.bytes", "retention.ms")


async def preview(asked: Asked) -> Plan:
    """Look at what is set, and have the brokers check what shall be."""
    topic, name, value = needed(asked, _TOPIC), needed(asked, _SETTING), text(asked, _VALUE.name)
    is_set, admin = choice(asked, _HOW) == "set", asked.cluster.admin(ConfigAdmin)
    resource = ConfigResource(ResourceType.TOPIC, topic)
    entry = next((each for each in (await admin.describe_configs([resource], names=[name]))[resource]), None)
    if entry is None:
        raise BarnabasError(f"{_SETTING.label}: topics have no {name[:100]}")
    if not is_set and entry.source is not ConfigSource.DYNAMIC_TOPIC_CONFIG:
        raise BarnabasError(f"{name} is not set for topic {topic}")
    inherited = [each.value or "" for each in entry.synonyms if each.source is not ConfigSource.DYNAMIC_TOPIC_CONFIG]
    after = value if is_set else (inherited or ["the default"])[0]
    change = ConfigChange(name, ConfigOperation.SET, value) if is_set else ConfigChange(name, ConfigOperation.DELETE)
    await admin.alter_configs({resource: [change]}, validate_only=True)

    async def carry_out() -> str:
        await admin.alter_configs({resource: [change]})
        return f"{name} of topic {topic} was {'set' if is_set else 'unset'}."

    written = f"{name}=[{value}]" if "," in value else f"{name}={value}"
    option = ("--add-config", written) if is_set else ("--delete-config", name)
    loses = name in _LOSING and after != entry.value
    return Plan(
        (Row(f"{name} of {topic}", entry.value or "", after),),
        command("configs", "--alter", "--topic", topic, *option),
        carry_out,
        loses="Brokers may remove records that they would have kept." if loses else "",
        name=topic,
    )


CHANGE = Change("/change/topic-setting", "Change a topic's setting", (_TOPIC, _HOW, _SETTING, _VALUE), preview)
