"""Set or unset a setting of a topic, a broker, or all brokers."""

from typing import Final

from barnabas.clients.admin_configs import (
    ConfigAdmin,
    ConfigChange,
    ConfigOperation,
    ConfigResource,
    ConfigSource,
    ResourceType,
)
from barnabas.core.advised_commands import Word, command
from barnabas.core.errors import BarnabasError
from barnabas.page.changes.change import Change, Field, Plan, Row, choice, needed, text
from barnabas.page.view import Asked

_TOPIC: Final = Field("topic", "Topic")
_BROKER: Final = Field("broker", "Broker", "Its id. Empty: the default of all brokers.", is_optional=True)
_HOW: Final = Field("how", "What to do", choices=("set", "unset"))
_SETTING: Final = Field("setting", "Setting", "Such as retention.ms.")
_VALUE: Final = Field("value", "Value", "Empty for unset.", is_optional=True)
# Settings that may make a broker delete records; including the broker settings that topics inherit.
_LOSING: Final = (
    *("cleanup.policy", "delete.retention.ms", "retention.bytes", "retention.ms"),
    *("log.cleanup.policy", "log.cleaner.delete.retention.ms", "log.retention.bytes", "log.retention.ms"),
)


async def preview_of_topic(asked: Asked) -> Plan:
    """Read a topic's setting, and let the brokers validate the new value."""
    topic = needed(asked, _TOPIC)
    resource = ConfigResource(ResourceType.TOPIC, topic)
    return await _preview(asked, resource, ConfigSource.DYNAMIC_TOPIC_CONFIG, ("--topic", topic))


async def preview_of_broker(asked: Asked) -> Plan:
    """Read a setting of a broker or of all, and let the brokers validate the new value."""
    broker_id = text(asked, _BROKER.name)
    resource = ConfigResource(ResourceType.BROKER, broker_id)
    if not broker_id:
        return await _preview(asked, resource, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, "--broker-defaults")
    return await _preview(asked, resource, ConfigSource.DYNAMIC_BROKER_CONFIG, ("--broker", broker_id))


async def _preview(asked: Asked, resource: ConfigResource, own: ConfigSource, whose: Word) -> Plan:
    """Args:
    own: The source of a value set at this level.
    whose: The command option that selects the resource.
    """
    name, value = needed(asked, _SETTING), text(asked, _VALUE.name)
    is_set, admin = choice(asked, _HOW) == "set", asked.cluster.admin(ConfigAdmin)
    entry = next((each for each in (await admin.describe_configs([resource], names=[name]))[resource]), None)
    # For the default of all brokers, only set values are reported.
    if entry is None and resource.name:
        raise BarnabasError(f"{_SETTING.label}: {resource} has no {name[:100]}")
    if entry is not None and entry.is_sensitive:
        raise BarnabasError(f"{name} is a secret: set it with barnabas configs, not in a form")
    if not is_set and (entry is None or entry.source is not own):
        raise BarnabasError(f"{name} is not set for {resource}")
    before = "" if entry is None else entry.value or ""
    inherited = [] if entry is None else [each.value or "" for each in entry.synonyms if each.source is not own]
    after = value if is_set else (inherited or ["the default"])[0]
    change = ConfigChange(name, ConfigOperation.SET, value) if is_set else ConfigChange(name, ConfigOperation.DELETE)
    await admin.alter_configs({resource: [change]}, validate_only=True)

    async def carry_out() -> str:
        await admin.alter_configs({resource: [change]})
        return f"{name} of {resource} was {'set' if is_set else 'unset'}."

    written = f"{name}=[{value}]" if "," in value else f"{name}={value}"
    option = ("--add-config", written) if is_set else ("--delete-config", name)
    loses = name in _LOSING and after != before
    return Plan(
        (Row(f"{name} of {resource}", before, after),),
        command("configs", "--alter", whose, option),
        carry_out,
        loses="Brokers may delete records that they would have kept." if loses else "",
        name=resource.name or name,
    )


TOPIC: Final = Change(
    "/change/topic-setting", "Change a topic's setting", (_TOPIC, _HOW, _SETTING, _VALUE), preview_of_topic
)
BROKER: Final = Change(
    "/change/broker-setting", "Change a setting of brokers", (_BROKER, _HOW, _SETTING, _VALUE), preview_of_broker
)
