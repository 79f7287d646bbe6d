"""Groups that Kafka 2.7.2 and Barnabas hand to each other: static members, and offsets of transactions still open."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from barnabas.core.error_code import ErrorCode
from barnabas.testing import Broker
from tests.compat.raw_groups import Group
from tests.compat.test_handover import (  # noqa: F401 (fixtures)
    StartKafka,
    barnabas,
    create,
    start_barnabas,
    start_kafka,
    when_expired,
)

SESSION_MS = 1_500_000
UNSTABLE = (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)


def members_of(group: Group) -> tuple[str, list[tuple[str, Any, bytes]]]:
    found = group.describe()
    return found.group_state, sorted(
        (each.member_id, each.group_instance_id, bytes(each.member_assignment)) for each in found.members
    )


def test_from_kafka_and_back(
    tmp_path: Path,
    connect: str,
    start_kafka: StartKafka,  # noqa: F811
    start_barnabas: Callable[[Path | str], Broker],  # noqa: F811
) -> None:
    data_dir = tmp_path / "data"
    kafka = start_kafka(data_dir, connect, settings={"transactional.id.expiration.ms": "604800000"})
    create(kafka, "t", 1)
    with ThreadPoolExecutor(4) as executor:
        group, other = Group(kafka, "static", executor), Group(kafka, "other", executor)
        first = group.become_member("i1", session_timeout_ms=SESSION_MS)
        assert group.commit("t", 5, first, 1) == [0]
        # One transaction that is open beside a group with members, and one that is all that a group has.
        assert group.txn_commit("t", 6) == [0]
        assert other.txn_commit("t", 7, producer_id=4712) == [0]
        assert other.txn_commit("t", 8, producer_id=4713) == [0]
        other.end_transaction(False, producer_id=4713)
        seen = members_of(group)
        assert seen == ("Stable", [(first, "i1", first.encode())])
        kafka.kill()

        when_expired("adopt", data_dir, "--zookeeper", connect, "--execute")
        broker = start_barnabas(data_dir)
        group, other = Group(broker, "static", executor), Group(broker, "other", executor)
        assert members_of(group) == seen
        assert group.heartbeat(first, 1, "i1") == ErrorCode.NONE
        assert group.fetch("t") == (ErrorCode.NONE, 5)
        assert group.fetch("t", require_stable=True) == UNSTABLE
        assert other.fetch("t", require_stable=True) == UNSTABLE
        group.end_transaction(True)
        group.wait_for_offset("t", 6)
        # The member comes back under another id, and a transaction of our own stays open.
        second = group.join(instance="i1").member_id
        assert group.heartbeat(first, 1, "i1") == ErrorCode.FENCED_INSTANCE_ID
        assert group.txn_commit("t", 9, producer_id=4714) == [0]
        assert other.txn_commit("t", 10, producer_id=4715) == [0]
        other.end_transaction(True, producer_id=4715)
        seen = members_of(group)
        assert seen == ("Stable", [(second, "i1", first.encode())])
        broker.kill()

        assert barnabas("release", data_dir, "--zookeeper", connect, "--execute")["executed"]
        kafka.restart()
        group, other = Group(kafka, "static", executor), Group(kafka, "other", executor)
        assert members_of(group) == seen
        assert group.heartbeat(second, 1, "i1") == ErrorCode.NONE
        assert group.heartbeat(first, 1, "i1") == ErrorCode.FENCED_INSTANCE_ID
        assert group.fetch("t") == (ErrorCode.NONE, 6)
        assert group.fetch("t", require_stable=True) == UNSTABLE
        group.end_transaction(True, producer_id=4714)
        group.wait_for_offset("t", 9)
        # What Kafka began is still open; its record is older than the one that counts.
        assert (other.fetch("t"), other.fetch("t", require_stable=True)) == ((ErrorCode.NONE, 10), UNSTABLE)
        other.end_transaction(True, producer_id=4712)
        other.wait_for_offset("t", 10)
        kafka.stop()
        errors = [line for line in kafka.log_text().splitlines() if "ERROR" in line]
        # That is how it tells of the fenced heartbeat above.
        assert [line for line in errors if "fenced error" not in line] == []
