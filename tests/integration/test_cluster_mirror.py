"""Mirrors from and to a cluster of three, of which one broker is killed in the middle: each record is there once."""

import asyncio
import random
import signal
from pathlib import Path

from tests.clusters import cluster_of, leader_of, registry_broker, servers_of, wait_for_in_sync
from tests.integration.mirror_kills import PARTITION_COUNT, TOPIC, differences
from tests.integration.mirrored import Side
from tests.integration.test_mirror_command import Process, command, events, running
from tests.patience import PATIENCE_S
from tests.replicas import wait_for_equal_replicas

# Of each side, before the kill and after it.
_COUNT = 200


def await_mirrored(process: Process, count: int) -> None:
    """Wait until a mirror says that it has written so many records."""
    events(process, lambda event: event.get("record_count") == count)


def test_a_killed_broker_of_a_source_or_target_loses_and_doubles_nothing(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print("seed", seed)
    chance = random.Random(seed)
    with (
        registry_broker() as (broker, connect),
        cluster_of(("barnabas",) * 3, tmp_path, f"{connect}/mirrored") as members,
    ):
        alone, three = Side(broker, "alone"), Side(members[1], "three", servers_of(members))
        sides = alone, three
        for side in sides:
            side.create(TOPIC, PARTITION_COUNT)
        for broker_id, member in members.items():
            # A broker answers for a topic once the controller has told it of it.
            asyncio.run(leader_of({broker_id: member}, TOPIC, PARTITION_COUNT - 1))
        for side in sides:
            side.feed(TOPIC, _COUNT, chance)
        into, out_of = command(alone, three, "--topics", TOPIC), command(three, alone, "--topics", TOPIC)
        with running(into) as first, running(out_of) as second:
            for process in (first, second):
                await_mirrored(process, _COUNT)
            for side in sides:
                side.feed(TOPIC, _COUNT, chance)
            killed = members[asyncio.run(leader_of(members, TOPIC, 0))]
            killed.kill()
            for side in sides:
                side.feed(TOPIC, _COUNT, chance)
            for process in (first, second):
                await_mirrored(process, 3 * _COUNT)
                process.send_signal(signal.SIGTERM)
                assert process.wait(PATIENCE_S) == 0
        assert differences(sides) == []
        killed.restart()
        wait_for_in_sync(members, TOPIC)
        wait_for_equal_replicas({each: member.data_dir for each, member in members.items()}, TOPIC, PARTITION_COUNT)
