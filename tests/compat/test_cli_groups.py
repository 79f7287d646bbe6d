"""`barnabas groups` against the broker under test: every reset, and what is deleted.

Source: cli page, kafka-consumer-groups.
"""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from barnabas.wire.protocol.api_keys import ApiKey
from tests.compat.commands import Commands
from tests.patience import PATIENCE_S, until

HOUR_MS = 3_600_000


@pytest.fixture
def topic(commands: Commands, name: str) -> str:
    """A topic with ten records in each of its two partitions, one for each of the last ten hours."""
    commands.run("topics", "--create", "--topic", name, "--partitions", "2")
    producer = Producer({"bootstrap.servers": commands.servers})
    now_ms = round(time.time() * 1000)
    for hours in range(10, 0, -1):
        for partition in (0, 1):
            producer.produce(name, b"x", partition=partition, timestamp=now_ms - hours * HOUR_MS)
    assert producer.flush(PATIENCE_S) == 0
    return name


@pytest.fixture
def reader(commands: Commands, topic: str) -> Iterator[Consumer]:
    """A consumer that reads the topic, in the group of its name."""
    consumer = Consumer(
        {
            "bootstrap.servers": commands.servers,
            "group.id": topic,
            "client.id": "reader",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])
    until(lambda: consumer.poll(0.5) is not None)
    consumer.commit(asynchronous=False)
    yield consumer
    consumer.close()


def reset(commands: Commands, group: str, *arguments: str) -> list[int]:
    """Reset offsets and say what they are then, by partition; what was said before is checked against it."""
    command = ("groups", "--reset-offsets", "--group", group, *arguments)
    planned = {row["partition"]: row["new_offset"] for row in commands.json(*command)}
    commands.run(*command, "--execute")
    described = {row["partition"]: row["current_offset"] for row in offsets(commands, group)}
    assert planned.items() <= described.items()
    return [described[partition] for partition in sorted(described)]


def offsets(commands: Commands, group: str) -> list[dict]:
    (described,) = commands.json("groups", "--describe", "--group", group)
    return described["offsets"]


def test_every_reset(commands: Commands, topic: str, tmp_path: Path) -> None:
    here = ("--topic", topic)
    assert reset(commands, topic, *here, "--to-earliest") == [0, 0]
    assert reset(commands, topic, *here, "--to-latest") == [10, 10]
    assert reset(commands, topic, "--topic", f"{topic}:1", "--to-offset", "4") == [10, 4]
    assert reset(commands, topic, "--all-topics", "--to-current") == [10, 4]
    assert reset(commands, topic, *here, "--shift-by", "-3") == [7, 1]
    assert reset(commands, topic, *here, "--shift-by", "-3") == [4, 0]
    assert reset(commands, topic, *here, "--shift-by", "8") == [10, 8]
    assert reset(commands, topic, *here, "--to-offset", "99") == [10, 10]
    assert reset(commands, topic, *here, "--by-duration", "PT3H30M") == [7, 7]
    assert reset(commands, topic, *here, "--by-duration", "P1D") == [0, 0]
    assert reset(commands, topic, *here, "--by-duration", "PT0S") == [10, 10]
    moment = datetime.fromtimestamp(time.time() - 5.5 * 3600, UTC).strftime("%Y-%m-%dT%H:%M:%S.000")
    assert reset(commands, topic, *here, "--to-datetime", moment) == [5, 5]
    assert reset(commands, topic, *here, "--to-datetime", f"{moment}+01:00") == [4, 4]

    command = ("groups", "--reset-offsets", "--group", topic, *here)
    exported = commands.run(*command, "--shift-by", "1", "--export")
    assert exported == f"{topic},0,5\n{topic},1,5\n"
    file = tmp_path / "offsets.csv"
    file.write_text(exported)
    assert reset(commands, topic, "--from-file", str(file)) == [5, 5]
    file.write_text(f"{topic},{topic},1,6\nanother,{topic},0,7\n")
    assert reset(commands, topic, "--from-file", str(file)) == [5, 6]

    commands.run(*command, "--to-earliest", "--dry-run")
    assert [row["current_offset"] for row in offsets(commands, topic)] == [5, 6]


def test_a_group_with_members(commands: Commands, topic: str, reader: Consumer) -> None:
    commands.need(ApiKey.DELETE_GROUPS, ApiKey.OFFSET_DELETE)
    group = ("--group", topic)
    assert [row["client_id"] for row in offsets(commands, topic)] == ["reader", "reader"]
    (state,) = commands.json("groups", "--describe", *group, "--state")
    assert (state["state"], state["members"]) == ("Stable", 1)
    columns, member = commands.run("groups", "--describe", *group, "--members", "--verbose").splitlines()
    assert columns.split() == ["group", "consumer", "id", "host", "client", "id", "partitions", "assignment"]
    assert member.split()[-2:] == ["2", f"{topic}(0,1)"]
    assert "assignment" not in commands.run("groups", "--describe", *group, "--members")

    refused = f"group {topic} is Stable: stop its consumers before its offsets are reset"
    latest = ("--topic", topic, "--to-latest", "--execute")
    assert refused in commands.fails("groups", "--reset-offsets", *group, *latest)
    # The others are reset all the same.
    commands.run("groups", "--reset-offsets", "--group", f"{topic}-idle", *latest)
    earliest = ("--topic", topic, "--to-earliest", "--execute")
    assert refused in commands.run("groups", "--reset-offsets", *group, "--group", f"{topic}-idle", *earliest, code=1)
    assert [row["current_offset"] for row in offsets(commands, f"{topic}-idle")] == [0, 0]

    assert f"group {topic} has members: stop its consumers first" in commands.fails("groups", "--delete", *group)
    assert f"offsets were not deleted: {topic}-0" in commands.fails(
        "groups", "--delete-offsets", *group, "--topic", f"{topic}:0"
    )
    assert offsets(commands, topic)


def test_offsets_and_groups_are_deleted(commands: Commands, topic: str) -> None:
    commands.need(ApiKey.DELETE_GROUPS, ApiKey.OFFSET_DELETE)
    group = ("--group", topic)
    reset(commands, topic, "--topic", topic, "--to-latest")
    deleted = commands.run("groups", "--delete-offsets", *group, "--topic", f"{topic}:1").splitlines()
    assert deleted[1].split() == [topic, topic, "1", "deleted"]
    assert [row["partition"] for row in offsets(commands, topic)] == [0]
    assert "has no offsets of topic other" in commands.fails("groups", "--delete-offsets", *group, "--topic", "other")

    reset(commands, f"{topic}-2", "--topic", topic, "--to-latest")
    unknown = commands.run("groups", "--delete", *group, "--group", f"{topic}-3", "--group", f"{topic}-2", code=1)
    assert f"group {topic}-3 does not exist; barnabas groups --list shows" in unknown
    listed = commands.run("groups", "--list").split()
    assert not {topic, f"{topic}-2"} & set(listed)
    assert f"consumer group {topic} does not exist; barnabas" in commands.fails("groups", "--describe", *group)


def test_groups_by_state(commands: Commands, topic: str, reader: Consumer) -> None:
    reset(commands, f"{topic}-idle", "--topic", topic, "--to-latest")

    def listed(*arguments: str) -> dict[str, str]:
        groups = commands.json("groups", "--list", *arguments)
        return {each["group"]: each["state"] for each in groups if each["group"].startswith(topic)}

    assert listed("--state") == {topic: "Stable", f"{topic}-idle": "Empty"}
    assert listed("--state", "stable,Dead") == {topic: "Stable"}
    assert listed("--state", "Empty") == listed("--state=Empty") == {f"{topic}-idle": "Empty"}
