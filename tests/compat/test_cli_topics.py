"""`barnabas topics` against the broker under test: more partitions, and Kafka's questions about their state.

Source: cli page, kafka-topics.
"""

from barnabas.wire.protocol.api_keys import ApiKey
from tests.compat.commands import Commands


def test_a_topic_gets_more_partitions(commands: Commands, name: str) -> None:
    commands.need(ApiKey.CREATE_PARTITIONS)
    commands.run("topics", "--create", "--topic", name, "--partitions", "2")
    alter = ("topics", "--alter", "--topic", name, "--partitions")
    assert commands.run(*alter, "3") == f"Topic {name} now has 3 partitions.\n"
    assert commands.json(*alter, "5", "--replica-assignment", "0,0,0,0,0") == [{"topic": name, "partition_count": 5}]
    (topic,) = commands.json("topics", "--describe", "--topic", name)
    assert [part["replicas"] for part in topic["partitions"]] == [[0]] * 5

    assert "Topic currently has 5 partitions, which is higher than the requested 4" in commands.fails(*alter, "4")
    assert "Topic already has 5 partitions" in commands.fails(*alter, "5")
    unknown = ("6", "--replica-assignment", "0,0,0,0,0,9")
    assert "Unknown broker(s) in replica assignment: 9" in commands.fails(*alter, *unknown)
    missing = ("topics", "--alter", "--topic", f"not-{name}", "--partitions", "2")
    assert f"topic not-{name} does not exist" in commands.fails(*missing)
    assert commands.json(*missing, "--if-exists") == []


def test_a_topic_is_not_created_on_brokers_that_do_not_exist(commands: Commands, name: str) -> None:
    create = ("topics", "--create", "--topic", name, "--replica-assignment")
    assert "no broker of its partition 1 is registered" in commands.fails(*create, "0,9:8")
    commands.run(*create, "0")
    commands.run(*create, "9", "--if-not-exists")


def test_partitions_by_their_state(commands: Commands, name: str) -> None:
    commands.run("topics", "--create", "--topic", f"{name}-plain", "--partitions", "2")
    commands.run("topics", "--create", "--topic", f"{name}-short", "--config", "min.insync.replicas=2")

    def described(option: str) -> dict[str, list[int]]:
        topics = commands.json("topics", "--describe", "--topic", f"{name}-.*", option)
        return {topic["topic"]: [part["partition"] for part in topic["partitions"]] for topic in topics}

    assert described("--under-replicated-partitions") == {}
    assert described("--unavailable-partitions") == {}
    assert described("--under-min-isr-partitions") == {f"{name}-short": [0]}
    assert described("--at-min-isr-partitions") == {f"{name}-plain": [0, 1]}
    assert described("--topics-with-overrides") == {f"{name}-short": []}

    pattern = ("topics", "--describe", "--topic", f"{name}-plain|{name}-short")
    assert commands.run(*pattern, "--under-min-isr-partitions").splitlines()[1].split() == [f"{name}-short"] + ["0"] * 4
    assert commands.run(*pattern, "--topics-with-overrides") == (
        f"Topic {name}-short: 1 partition, 1 replica\nSettings: min.insync.replicas=2\n"
    )
    assert commands.run(*pattern, "--unavailable-partitions") == ""
    assert len(commands.run(*pattern).splitlines()) == 2 + 2 + 1 + 3 + 1
