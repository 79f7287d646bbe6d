"""Settings that clients of other people change: Kafka 2.7.2's kafka-configs, librdkafka, Java's admin clients.

Source: cli page, kafka-configs (what it prints).
"""

import re
from collections.abc import Callable

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from tests.compat.clients import Client
from tests.compat.clients.java import JavaClient, JavaClientError
from tests.compat.conftest import RunningBroker, StartBroker
from tests.compat.test_kafka_tools import TOPICS, Tool, tool
from tests.patience import PATIENCE_S, until
from tools.kafka.java import run_tool

__all__ = ["tool"]

CONFIGS = "kafka.admin.ConfigCommand"


def set_values(text: str) -> dict[str, str]:
    """What a description lists, without the synonyms."""
    return dict(re.findall(r"^  (\S+?)=(\S*) sensitive=", text, re.MULTILINE))


def until_described(tool: Tool, expected: dict[str, str], *entity: str) -> str:
    """Describe until these are the settings: Kafka takes over a broker's a moment after its answer."""
    texts: list[str] = []

    def is_described() -> bool:
        texts.append(tool(CONFIGS, "--describe", *entity))
        return set_values(texts[-1]) == expected

    until(is_described, lambda: texts[-1])
    return texts[-1]


def test_a_topics_settings_are_altered_described_and_deleted(tool: Tool, name: str) -> None:
    tool(TOPICS, "--create", "--topic", name)
    topic = ("--entity-type", "topics", "--entity-name", name)
    added = ("--alter", "--add-config", "segment.bytes=20000,cleanup.policy=[compact,delete]")
    assert tool(CONFIGS, *topic, *added) == f"Completed updating config for topic {name}.\n"
    text = until_described(tool, {"segment.bytes": "20000", "cleanup.policy": "compact,delete"}, *topic)
    assert text.startswith(f"Dynamic configs for topic {name} are:\n")
    assert "synonyms={DYNAMIC_TOPIC_CONFIG:segment.bytes=20000, DEFAULT_CONFIG:log.segment.bytes=1073741824}" in text
    tool(CONFIGS, *topic, "--alter", "--delete-config", "segment.bytes")
    until_described(tool, {"cleanup.policy": "compact,delete"}, *topic)


def test_a_brokers_and_all_brokers_settings_are_altered_described_and_deleted(tool: Tool) -> None:
    one, every = ("--entity-type", "brokers", "--entity-name", "0"), ("--entity-type", "brokers", "--entity-default")
    assert tool(CONFIGS, *every, "--alter", "--add-config", "log.cleaner.threads=2") == (
        "Completed updating default config for brokers in the cluster.\n"
    )
    text = until_described(tool, {"log.cleaner.threads": "2"}, *every)
    assert text.startswith("Default configs for brokers in the cluster are:\n")
    assert tool(CONFIGS, *one, "--alter", "--add-config", "max.connections=100000,message.max.bytes=2000000") == (
        "Completed updating config for broker 0.\n"
    )
    shown = {"max.connections": "100000", "message.max.bytes": "2000000"}
    until_described(tool, shown, *one)
    tool(CONFIGS, *one, "--alter", "--delete-config", "max.connections,message.max.bytes")
    tool(CONFIGS, *every, "--alter", "--delete-config", "log.cleaner.threads")
    until_described(tool, {}, *one)
    until_described(tool, {}, *every)


def test_a_loggers_level_is_altered(tool: Tool) -> None:
    loggers = ("--entity-type", "broker-loggers", "--entity-name", "0")
    assert "  root=INFO " in tool(CONFIGS, "--describe", *loggers)
    assert tool(CONFIGS, *loggers, "--alter", "--add-config", "root=WARN") == (
        "Completed updating config for broker-logger 0.\n"
    )
    assert "  root=WARN " in tool(CONFIGS, "--describe", *loggers)
    tool(CONFIGS, *loggers, "--alter", "--add-config", "root=INFO")


@pytest.mark.parametrize(
    ("entity", "setting", "complaint"),
    [
        (
            ("brokers", "0"),
            "log.retention.hours=3",
            "Cannot update these configs dynamically: Set(log.retention.hours)",
        ),
        (("brokers", "0"), "background.threads=1000", "value should not be greater than double the current value"),
        (("topics", "absent-topic"), "retention.ms=1", "UnknownTopicOrPartitionException"),
        (("broker-loggers", "0"), "root=LOUD", "Cannot set the log level of root to LOUD"),
    ],
)
def test_what_can_not_be_is_told(cluster: RunningBroker, entity: tuple[str, str], setting: str, complaint: str) -> None:
    kind, name = entity
    server = ("--bootstrap-server", cluster.bootstrap_servers)
    where = ("--entity-type", kind, "--entity-name", name)
    result = run_tool(CONFIGS, *server, *where, "--alter", "--add-config", setting)
    assert result.returncode == 1
    assert complaint in result.stdout + result.stderr


def test_librdkafka_alters_and_describes(start_broker: StartBroker) -> None:
    admin = AdminClient({"bootstrap.servers": start_broker().bootstrap_servers})

    def described(kind: ResourceType, name: str, setting: str) -> str | None:
        (answer,) = admin.describe_configs([ConfigResource(kind, name)]).values()
        return answer.result(PATIENCE_S)[setting].value

    def change(kind: ResourceType, name: str, setting: str, value: str | None, operation: AlterConfigOpType) -> None:
        entry = ConfigEntry(setting, value, incremental_operation=operation)
        resource = ConfigResource(kind, name, incremental_configs=[entry])
        (answer,) = admin.incremental_alter_configs([resource]).values()
        answer.result(PATIENCE_S)

    broker, largest = ResourceType.BROKER, "message.max.bytes"
    change(broker, "0", largest, "2000", AlterConfigOpType.SET)
    until(lambda: described(broker, "0", largest) == "2000")
    change(broker, "0", "log.cleanup.policy", "compact", AlterConfigOpType.APPEND)
    until(lambda: described(broker, "0", "log.cleanup.policy") == "delete,compact")
    with pytest.warns(DeprecationWarning, match="alter_configs has been deprecated"):
        (answer,) = admin.alter_configs([ConfigResource(broker, "0", set_config={largest: "3000"})]).values()
    answer.result(PATIENCE_S)
    until(lambda: described(broker, "0", largest) == "3000")
    assert described(broker, "0", "log.cleanup.policy") == "delete"
    change(broker, "0", largest, None, AlterConfigOpType.DELETE)
    until(lambda: described(broker, "0", largest) == "1048588")


@pytest.mark.parametrize("version", ["java-2.7.2", "java-4"])
def test_javas_admin_clients_alter_and_describe(clients: Callable[[str], Client], name: str, version: str) -> None:
    client = clients(version)
    assert isinstance(client, JavaClient)
    client.create_topic(name, 1, {})
    client.alter_topic_config(name, "SET", "retention.ms", "5000")
    client.alter_topic_config(name, "APPEND", "cleanup.policy", "compact")
    until(lambda: client.topic_config(name, "cleanup.policy") == "delete,compact")
    assert client.topic_config(name, "retention.ms") == "5000"
    client.alter_topic_config(name, "DELETE", "retention.ms", "0")
    until(lambda: client.topic_config(name, "retention.ms") == "604800000")
    with pytest.raises(JavaClientError, match="Not a number of type LONG"):
        client.alter_topic_config(name, "SET", "retention.ms", "soon")
    client.delete_topic(name)
