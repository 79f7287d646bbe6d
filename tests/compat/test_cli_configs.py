"""`barnabas configs` against the broker under test.

Source: cli page, kafka-configs.
"""

from pathlib import Path

import pytest

from barnabas.wire.protocol.api_keys import ApiKey
from tests.compat.commands import Commands


@pytest.fixture(autouse=True)
def needed_apis(commands: Commands) -> None:
    commands.need(ApiKey.DESCRIBE_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS)


def own(described: list[dict]) -> dict[str, str]:
    """What was set for an entity itself."""
    (entity,) = described
    return {setting["name"]: setting["value"] for setting in entity["configs"]}


def test_a_topics_settings_are_set_shown_and_unset(commands: Commands, name: str) -> None:
    commands.run("topics", "--create", "--topic", name, "--config", "segment.bytes=1048576")
    topic = ("--entity-type", "topics", "--entity-name", name)
    changed = commands.run(
        "configs", "--alter", *topic, "--add-config", "retention.ms=5,cleanup.policy=[compact,delete]"
    )
    assert changed == f"Completed updating config for topic {name}.\n"
    expected = {"cleanup.policy": "compact,delete", "retention.ms": "5", "segment.bytes": "1048576"}
    assert own(commands.json("configs", "--describe", *topic)) == expected

    heading, columns, *lines = commands.run("configs", "--describe", "--topic", name).splitlines()
    assert heading == f"Dynamic configs for topic {name} are:"
    assert columns.split() == ["name", "value", "source", "synonyms"]
    assert lines[0].split(maxsplit=3) == [
        "cleanup.policy",
        "compact,delete",
        "DYNAMIC_TOPIC_CONFIG",
        "DYNAMIC_TOPIC_CONFIG:cleanup.policy=compact,delete, DEFAULT_CONFIG:log.cleanup.policy=delete",
    ]

    both = ("--delete-config", "retention.ms,segment.bytes", "--add-config", "min.insync.replicas=1")
    assert commands.json("configs", "--alter", *topic, *both) == {
        "entity_type": "topics",
        "entity_name": name,
        "added": {"min.insync.replicas": "1"},
        "deleted": ["retention.ms", "segment.bytes"],
    }
    assert own(commands.json("configs", "--describe", *topic)) == {
        "cleanup.policy": "compact,delete",
        "min.insync.replicas": "1",
    }
    (everything,) = commands.json("configs", "--describe", *topic, "--all")
    sources = {setting["name"]: setting["source"] for setting in everything["configs"]}
    assert sources["min.insync.replicas"] == "DYNAMIC_TOPIC_CONFIG"
    assert sources["max.message.bytes"] == "DEFAULT_CONFIG"


def test_settings_from_a_file(commands: Commands, name: str, tmp_path: Path) -> None:
    commands.run("topics", "--create", "--topic", name)
    file = tmp_path / "topic.properties"
    file.write_text("# kept for a day\nretention.ms = 86400000\ncleanup.policy: compact,delete\n")
    commands.run("configs", "--alter", "--topic", name, "--add-config-file", str(file))
    expected = {"cleanup.policy": "compact,delete", "retention.ms": "86400000"}
    assert own(commands.json("configs", "--describe", "--topic", name)) == expected


def test_settings_of_one_broker_and_of_all(commands: Commands) -> None:
    every, one = ("--entity-type", "brokers", "--entity-default"), ("--entity-type", "brokers", "--entity-name", "0")
    said = commands.run("configs", "--alter", *every, "--add-config", "log.retention.ms=99000000")
    assert said == "Completed updating default config for brokers in the cluster.\n"
    said = commands.run("configs", "--alter", *one, "--add-config", "log.retention.ms=98000000")
    assert said == "Completed updating config for broker 0.\n"
    try:
        assert own(commands.json("configs", "--describe", *every)) == {"log.retention.ms": "99000000"}
        (described,) = commands.json("configs", "--describe", *one)
        (setting,) = described["configs"]
        assert (setting["value"], setting["source"]) == ("98000000", "DYNAMIC_BROKER_CONFIG")
        assert [each["source"] for each in setting["synonyms"]][:2] == [
            "DYNAMIC_BROKER_CONFIG",
            "DYNAMIC_DEFAULT_BROKER_CONFIG",
        ]
        brokers = commands.json("configs", "--describe", "--entity-type", "brokers")
        assert [broker["entity_name"] for broker in brokers] == ["0", None]
    finally:
        for entity in (every, one):
            commands.run("configs", "--alter", *entity, "--delete-config", "log.retention.ms")
    assert own(commands.json("configs", "--describe", "--broker", "0")) == {}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--topic", "{name}", "--delete-config", "retention.ms"), "Invalid config(s): retention.ms: not set for"),
        (("--topic", "{name}", "--add-config", "retention=1"), "Unknown topic config name: retention"),
        (("--topic", "{name}", "--add-config", "retention.ms=x"), "Invalid value x for configuration retention.ms"),
        (("--topic", "not-{name}", "--delete-config", "retention.ms"), "does not exist; barnabas topics --list"),
        (("--broker", "7", "--add-config", "log.retention.ms=1"), "broker 7 is not registered"),
        (("--broker", "x", "--add-config", "log.retention.ms=1"), "x is not a broker id"),
    ],
)
def test_what_cannot_be_changed(commands: Commands, name: str, arguments: tuple[str, ...], complaint: str) -> None:
    commands.run("topics", "--create", "--topic", name)
    assert complaint in commands.fails("configs", "--alter", *(each.replace("{name}", name) for each in arguments))


@pytest.mark.parametrize(
    ("options", "called"),
    [
        (("--entity-type", "users", "--entity-name", "a b"), "user-principal 'a b'"),
        (("--entity-type", "clients", "--entity-default"), "the default client-id"),
        (("--user", "a b", "--client", "c"), "user-principal 'a b', client-id 'c'"),
        (("--user-defaults", "--client-defaults"), "the default user-principal, the default client-id"),
        (("--entity-type", "users", "--entity-name", "u", "--client", "c"), "user-principal 'u', client-id 'c'"),
    ],
)
def test_quotas_are_set_shown_and_unset(commands: Commands, options: tuple[str, ...], called: str) -> None:
    commands.need(ApiKey.DESCRIBE_CLIENT_QUOTAS, ApiKey.ALTER_CLIENT_QUOTAS)
    added = ("--add-config", "producer_byte_rate=1000000,request_percentage=12.5")
    changed = commands.run("configs", "--alter", *options, *added)
    assert changed.startswith(f"Completed updating config for {called}.\n")
    expected = {"producer_byte_rate": 1e6, "request_percentage": 12.5}
    (described,) = commands.json("configs", "--describe", *options)
    assert described["quotas"] == expected
    text = commands.run("configs", "--describe", *options)
    assert f"Quota configs for {called} are producer_byte_rate=1000000.0, request_percentage=12.5\n" in text
    commands.run("configs", "--alter", *options, "--delete-config", ",".join(expected))
    assert commands.json("configs", "--describe", *options) == []
