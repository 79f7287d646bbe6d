"""A broker with a log directory less beside Kafka 2.7.2: either one's controller hears of the other's."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from barnabas.testing import Broker
from barnabas.wire.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.clusters import Member, barnabas_member, kafka_member, wait_for_members
from tests.compat.raw import ask, create_topic
from tests.patience import until
from tools.kafka.server import QuickKafkaServer

CONTROLLER, LOSER = 1, 2
# Whoever writes in a directory notices that it is gone.
SETTINGS = {"replica.high.watermark.checkpoint.interval.ms": "200"}


def member(kind: str, place: Path, connect: str, broker_id: int) -> Broker | QuickKafkaServer:
    directories = ",".join(str(place / name) for name in ("a", "b"))
    if kind == "kafka":
        return kafka_member(place, connect, broker_id, {**SETTINGS, "log.dirs": directories})
    return barnabas_member(Path(directories), connect, broker_id, SETTINGS)


def told(member: Member, topic: str) -> dict[int, tuple[int, list[int]]]:
    """The leader and the offline replicas of each partition, as a broker says."""
    answer = ask(member.bootstrap_servers, MetadataRequest([MetadataRequestTopic(topic)]), 7)
    return {each.partition_index: (each.leader_id, each.offline_replicas) for each in answer.topics[0].partitions}


@pytest.mark.parametrize(("controller", "loser"), [("kafka", "barnabas"), ("barnabas", "kafka")])
def test_a_failed_directory_is_led_elsewhere(
    controller: str, loser: str, connect: str, name: str, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        members: dict[int, Member] = {}
        for broker_id, kind in ((CONTROLLER, controller), (LOSER, loser)):
            broker = member(kind, tmp_path / str(broker_id), connect, broker_id)
            members[broker_id] = broker
            stack.enter_context(broker)
        wait_for_members(members)
        create_topic(members[CONTROLLER].bootstrap_servers, name, 1, [[LOSER, CONTROLLER]] * 2)
        # Of the loser as well: it hears of them when it has made their logs.
        for each in members.values():
            until(lambda each=each: told(each, name) == {0: (LOSER, []), 1: (LOSER, [])})
        place = f"{LOSER}/*/{name}-0"
        until(lambda: list(tmp_path.glob(place)))
        (directory,) = tmp_path.glob(place)
        directory.parent.rename(tmp_path / "gone")
        directory.parent.write_text("no directory")
        for each in members.values():
            until(lambda each=each: told(each, name) == {0: (CONTROLLER, [LOSER]), 1: (LOSER, [])})
