"""What groups answer to requests that no client library sends, as Kafka 2.7.2 answers them.

`BARNABAS_COMPAT_TARGET=kafka` asks Kafka itself.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.protocol.messages.leave_group import LeaveGroupRequest
from barnabas.wire.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tests.compat.conftest import RunningBroker, StartBroker
from tests.compat.raw import create_topic
from tests.compat.raw_groups import Group
from tests.patience import PATIENCE_S


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as executor:
        yield executor


@pytest.fixture
def group(cluster: RunningBroker, name: str, executor: ThreadPoolExecutor) -> Group:
    return Group(cluster, name, executor)


@pytest.fixture
def topic(cluster: RunningBroker, name: str) -> str:
    create_topic(cluster.bootstrap_servers, name)
    return name


def shown(answer: Any) -> tuple[Any, ...]:
    return (
        answer.error_code,
        answer.generation_id,
        answer.protocol_type,
        answer.protocol_name,
        answer.leader,
        answer.member_id,
        len(answer.members),
    )


@pytest.mark.parametrize("version", range(8))
def test_refused_joins(group: Group, version: int) -> None:
    no_name = None if version >= 7 else ""
    cases: list[tuple[int, str, dict[str, Any]]] = [
        (ErrorCode.INVALID_GROUP_ID, "", {"group_id": ""}),
        (ErrorCode.INVALID_SESSION_TIMEOUT, "", {"session_timeout_ms": 1}),
        (ErrorCode.INVALID_SESSION_TIMEOUT, "m", {"session_timeout_ms": 2**31 - 1}),
        (ErrorCode.UNKNOWN_MEMBER_ID, "m", {}),
        (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "", {"protocol_type": ""}),
        (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "", {"protocols": {}}),
        (ErrorCode.UNKNOWN_MEMBER_ID, "m", {}),
    ]
    for error_code, given_id, changes in cases:
        answer = group.join(given_id, version=version, **changes)
        assert shown(answer) == (error_code, -1, None, no_name, "", given_id, 0), changes


@pytest.mark.parametrize("version", range(5, 8))
def test_refused_joins_of_static_members(group: Group, version: int) -> None:
    member_id = group.become_member("i")
    no_name = None if version >= 7 else ""
    cases: list[tuple[int, str, dict[str, Any]]] = [
        (ErrorCode.FENCED_INSTANCE_ID, "someone", {"instance": "i"}),
        (ErrorCode.UNKNOWN_MEMBER_ID, member_id, {"instance": "other"}),
        (ErrorCode.UNKNOWN_MEMBER_ID, "someone", {"instance": "other"}),
        (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "", {"instance": "i", "protocols": {"sticky": b""}}),
        (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "", {"instance": "other", "protocol_type": "connect"}),
    ]
    for error_code, given_id, changes in cases:
        answer = group.join(given_id, version=version, **changes)
        assert shown(answer) == (error_code, -1, None, no_name, "", given_id, 0), changes
    # None of them changed anything.
    assert group.heartbeat(member_id, instance="i") == ErrorCode.NONE
    assert group.describe().group_state == "Stable"


@pytest.mark.parametrize("version", range(5, 8))
def test_a_static_member_that_comes_back_to_a_stable_group(group: Group, version: int) -> None:
    old = group.become_member("i")
    assert old.startswith("i-")
    answer = group.join(instance="i", version=version)
    new = answer.member_id
    assert new.startswith("i-")
    assert new != old
    protocol_type = "consumer" if version >= 7 else None
    # The leader's id of before, and nobody to assign for.
    assert shown(answer) == (ErrorCode.NONE, 1, protocol_type, "range", old, new, 0)
    synced = group.sync(new, group_instance_id="i")
    assert (synced.error_code, synced.assignment) == (ErrorCode.NONE, old.encode())
    assert [(each.member_id, each.group_instance_id) for each in group.describe().members] == [(new, "i")]
    fenced = ErrorCode.FENCED_INSTANCE_ID
    assert group.heartbeat(old, instance="i") == fenced
    assert group.heartbeat(old) == ErrorCode.UNKNOWN_MEMBER_ID
    assert group.heartbeat(new) == ErrorCode.NONE
    assert group.sync(old, group_instance_id="i").error_code == fenced
    assert group.join(old, "i").error_code == fenced
    assert group.leave((old, "i")) == (ErrorCode.NONE, [fenced])
    assert group.heartbeat(new, 5, "i") == ErrorCode.ILLEGAL_GENERATION


def test_a_leader_with_its_old_id_rebalances(group: Group) -> None:
    member_id = group.become_member("i")
    answer = group.join(member_id, "i")
    assert shown(answer) == (ErrorCode.NONE, 2, "consumer", "range", member_id, member_id, 1)
    assert [(each.member_id, each.group_instance_id) for each in answer.members] == [(member_id, "i")]


def test_waiting_joins_and_syncs_of_the_one_before_are_fenced(group: Group) -> None:
    leader = group.become_member("i1")
    waiting = group.join_later(instance="i2")
    group.wait_for("PreparingRebalance")
    replacing = group.join_later(instance="i2")
    answer = waiting.result(PATIENCE_S)
    assert answer.member_id.startswith("i2-")
    assert shown(answer)[:5] == (ErrorCode.FENCED_INSTANCE_ID, -1, None, None, "")
    assert group.join(leader, "i1").generation_id == 2
    follower = replacing.result(PATIENCE_S)
    assert (follower.error_code, follower.generation_id, follower.leader) == (0, 2, leader)
    waiting_sync = group.sync_later(follower.member_id, 2, group_instance_id="i2")
    # It waits for the leader; while it does, the same instance comes again.
    replacing = group.join_later(instance="i2")
    group.wait_for("PreparingRebalance")
    answer = waiting_sync.result(PATIENCE_S)
    # It may have been too late, and met the rebalance.
    assert answer.error_code in (ErrorCode.FENCED_INSTANCE_ID, ErrorCode.REBALANCE_IN_PROGRESS)
    assert group.heartbeat(leader, 2, "i1") == ErrorCode.REBALANCE_IN_PROGRESS
    assert group.join(leader, "i1").generation_id == 3
    assert replacing.result(PATIENCE_S).generation_id == 3


def test_syncs(group: Group) -> None:
    member_id = group.become_member()
    wrong = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    cases: list[tuple[int, dict[str, Any]]] = [
        (ErrorCode.NONE, {}),
        (wrong, {"protocol_type": None}),
        (wrong, {"protocol_name": None}),
        (wrong, {"protocol_type": "connect"}),
        (wrong, {"protocol_name": "sticky"}),
        (wrong, {"protocol_name": None, "group_id": ""}),
        (ErrorCode.INVALID_GROUP_ID, {"group_id": ""}),
        (ErrorCode.UNKNOWN_MEMBER_ID, {"group_id": "nobody-knows"}),
        (ErrorCode.ILLEGAL_GENERATION, {"generation": 2, "protocol_name": "sticky"}),
    ]
    for error_code, changes in cases:
        answer = group.sync(member_id, **{"generation": 1} | changes)
        is_refused = error_code != ErrorCode.NONE
        expected = (error_code, None, None, b"") if is_refused else (0, "consumer", "range", member_id.encode())
        assert (answer.error_code, answer.protocol_type, answer.protocol_name, answer.assignment) == expected, changes
    assert group.sync("someone").error_code == ErrorCode.UNKNOWN_MEMBER_ID
    for version in range(5):
        assert group.sync(member_id, version=version).error_code == ErrorCode.NONE


def test_several_leave_at_once(group: Group) -> None:
    first = group.become_member("i1")
    dynamic_id = group.join().member_id
    unknown, fenced = ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID
    assert group.leave(("someone", None), ("someone", "i1"), ("", "i9"), ("", None), (dynamic_id, None)) == (
        ErrorCode.NONE,
        [unknown, fenced, unknown, unknown, ErrorCode.NONE],
    )
    assert group.heartbeat(first, instance="i1") == ErrorCode.NONE
    assert group.leave(("", "i1"), ("", "i1"), (first, None)) == (ErrorCode.NONE, [0, unknown, unknown])
    assert group.describe().group_state == "Empty"
    assert group.leave((first, "i1"), group_id="nobody-knows") == (ErrorCode.NONE, [unknown])
    assert group.leave() == (ErrorCode.NONE, [])


@pytest.mark.parametrize("version", range(3))
def test_one_leaves_in_old_versions(group: Group, version: int) -> None:
    member_id = group.become_member()
    for error_code, given_id in [
        (ErrorCode.UNKNOWN_MEMBER_ID, "someone"),
        (ErrorCode.NONE, member_id),
        (ErrorCode.UNKNOWN_MEMBER_ID, member_id),
    ]:
        assert group.ask(LeaveGroupRequest(group.group_id, given_id), version).error_code == error_code
    assert group.ask(LeaveGroupRequest("", member_id), version).error_code == ErrorCode.INVALID_GROUP_ID


def test_heartbeats(group: Group) -> None:
    assert group.heartbeat("m") == ErrorCode.UNKNOWN_MEMBER_ID
    member_id = group.become_member()
    assert group.heartbeat(member_id) == ErrorCode.NONE
    assert group.heartbeat(member_id, instance="unknown") == ErrorCode.NONE
    assert group.heartbeat(member_id, 0) == ErrorCode.ILLEGAL_GENERATION
    assert group.heartbeat("someone") == ErrorCode.UNKNOWN_MEMBER_ID
    assert group.heartbeat(member_id, group_id="") == ErrorCode.INVALID_GROUP_ID


def test_a_full_group(start_broker: StartBroker, name: str, executor: ThreadPoolExecutor) -> None:
    group = Group(start_broker(**{"group.max.size": "1"}), name, executor)
    member_id = group.become_member("i")
    full = (ErrorCode.GROUP_MAX_SIZE_REACHED, -1, None, None, "", "", 0)
    assert shown(group.join()) == full
    assert shown(group.join(instance="j")) == full
    # Its own place does not count either.
    assert shown(group.join(instance="i")) == full
    assert group.heartbeat(member_id) == ErrorCode.NONE


def test_described_static_members(group: Group) -> None:
    member_id = group.become_member("i")
    for version in range(6):
        (member,) = group.describe(version).members
        assert (member.member_id, member.group_instance_id) == (member_id, "i" if version >= 4 else None)
        assert (member.client_id, member.member_assignment) == ("test", member_id.encode())


def test_commits(group: Group, topic: str) -> None:
    member_id = group.become_member("i")
    cases: list[tuple[int, dict[str, Any]]] = [
        (ErrorCode.UNKNOWN_MEMBER_ID, {}),
        (ErrorCode.UNKNOWN_MEMBER_ID, {"member_id": "someone", "generation": 1}),
        (ErrorCode.FENCED_INSTANCE_ID, {"member_id": "someone", "generation": 1, "group_instance_id": "i"}),
        (ErrorCode.FENCED_INSTANCE_ID, {"group_instance_id": "i"}),
        (ErrorCode.ILLEGAL_GENERATION, {"member_id": member_id, "generation": 2}),
        (ErrorCode.ILLEGAL_GENERATION, {"member_id": member_id}),
        (ErrorCode.ILLEGAL_GENERATION, {"group_id": "nobody-knows", "generation": 1}),
        (ErrorCode.OFFSET_METADATA_TOO_LARGE, {"member_id": member_id, "generation": 1, "metadata": "m" * 4_097}),
        (ErrorCode.NONE, {"member_id": member_id, "generation": 1, "group_instance_id": "i"}),
        (ErrorCode.NONE, {"member_id": member_id, "generation": 1, "group_instance_id": "unknown"}),
    ]
    for error_code, changes in cases:
        assert group.commit(topic, **changes) == [error_code], changes
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert group.commit(topic, member_id="someone", partitions=[0, 7]) == [ErrorCode.UNKNOWN_MEMBER_ID, unknown]
    assert group.commit("not-there") == [unknown]
    assert group.fetch(topic) == (ErrorCode.NONE, 1)


@pytest.mark.parametrize("version", range(9))
def test_commits_of_nobody_in_every_version(group: Group, topic: str, version: int) -> None:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert group.commit(topic, 42, version=version, partitions=[0, 7]) == [ErrorCode.NONE, unknown]
    assert group.fetch(topic, 0 if version == 0 else 1) == (ErrorCode.NONE, 42)
    # What is in the registry and what is in the log are two things.
    other = (unknown, -1) if version else (ErrorCode.NONE, -1)
    assert group.fetch(topic, 1 if version == 0 else 0) == other
    assert group.commit(topic, 7, version=version, metadata="m" * 4_097) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
    assert group.fetch(topic, 0 if version == 0 else 1) == (ErrorCode.NONE, 42)


@pytest.mark.parametrize("version", range(4))
def test_commits_in_transactions(group: Group, topic: str, version: int) -> None:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert group.txn_commit(topic, 42, version=version, partitions=[0, 7]) == [ErrorCode.NONE, unknown]
    assert group.txn_commit("not-there", version=version, group_id="") == [unknown]
    assert group.txn_commit(topic, version=version, group_id="") == [ErrorCode.INVALID_GROUP_ID]
    assert group.txn_commit(topic, version=version, metadata="m" * 4_097) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
    assert group.fetch(topic) == (ErrorCode.NONE, -1)
    assert group.fetch(topic, require_stable=True) == (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)
    assert group.txn_commit(topic, 43, epoch=1, version=version) == [ErrorCode.NONE]
    assert group.txn_commit(topic, 43, version=version) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert group.describe().group_state == "Empty"


def test_who_may_commit_in_transactions(group: Group, topic: str) -> None:
    member_id = group.become_member("i")
    cases: list[tuple[int, dict[str, Any]]] = [
        (ErrorCode.UNKNOWN_MEMBER_ID, {"member_id": "someone"}),
        (ErrorCode.FENCED_INSTANCE_ID, {"group_instance_id": "i"}),
        (ErrorCode.FENCED_INSTANCE_ID, {"member_id": "someone", "group_instance_id": "i", "generation_id": 5}),
        (ErrorCode.ILLEGAL_GENERATION, {"member_id": member_id, "generation_id": 2}),
        (ErrorCode.ILLEGAL_GENERATION, {"generation_id": 2}),
        (ErrorCode.NONE, {"generation_id": 1}),
        (ErrorCode.NONE, {"member_id": member_id}),
        (ErrorCode.NONE, {"member_id": member_id, "generation_id": 1, "group_instance_id": "i"}),
        (ErrorCode.NONE, {}),
    ]
    for error_code, changes in cases:
        assert group.txn_commit(topic, **changes) == [error_code], changes


@pytest.mark.parametrize("version", range(3))
def test_deleted_groups(group: Group, topic: str, version: int) -> None:
    def delete(*group_ids: str) -> dict[str, int]:
        answer = group.ask(DeleteGroupsRequest(list(group_ids)), version)
        return {each.group_id: each.error_code for each in answer.results}

    unknown, name = ErrorCode.GROUP_ID_NOT_FOUND, group.group_id
    assert delete(name, "nobody-knows", name) == {name: unknown, "nobody-knows": unknown}
    member_id = group.become_member()
    assert group.commit(topic, 1, member_id, 1) == [0]
    assert delete(name) == {name: ErrorCode.NON_EMPTY_GROUP}
    assert group.leave((member_id, None)) == (0, [0])
    assert delete(name) == {name: ErrorCode.NONE}
    assert group.fetch(topic) == (ErrorCode.NONE, -1)
    assert group.describe().group_state == "Dead"
    assert delete(name) == {name: unknown}


def test_a_group_is_deleted_with_an_open_transaction(group: Group, topic: str) -> None:
    assert group.txn_commit(topic) == [0]
    answer = group.ask(DeleteGroupsRequest([group.group_id]), 2)
    assert [each.error_code for each in answer.results] == [ErrorCode.NONE]
    assert group.fetch(topic, require_stable=True) == (ErrorCode.NONE, -1)


def test_deleted_offsets(group: Group, topic: str) -> None:
    def delete(*indexes: int, name: str = topic, group_id: str = group.group_id) -> tuple[int, list[int]]:
        partitions = [OffsetDeleteRequestPartition(index) for index in indexes]
        answer = group.ask(OffsetDeleteRequest(group_id, [OffsetDeleteRequestTopic(name, partitions)]), 0)
        return answer.error_code, sorted(each.error_code for topic in answer.topics for each in topic.partitions)

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert delete(0) == (ErrorCode.GROUP_ID_NOT_FOUND, [])
    assert delete(0, group_id="") == (ErrorCode.INVALID_GROUP_ID, [])
    assert delete(7, name="not-there") == (ErrorCode.GROUP_ID_NOT_FOUND, [])
    subscribed = b"\0\0\0\0\0\x01" + len(topic).to_bytes(2, "big") + topic.encode() + b"\xff\xff\xff\xff"
    member_id = group.become_member(protocols={"range": subscribed})
    assert group.commit(topic, 1, member_id, 1) == [0]
    assert delete(0, 7) == (0, [unknown, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC])
    assert group.leave((member_id, None)) == (0, [0])
    assert group.fetch(topic) == (ErrorCode.NONE, 1)
    assert delete(0, 7) == (0, [ErrorCode.NONE, unknown])
    assert group.fetch(topic) == (ErrorCode.NONE, -1)


def test_offsets_of_members_of_another_kind_stay(group: Group, topic: str) -> None:
    joined = group.join(instance="i", protocol_type="connect")
    assert joined.error_code == 0
    partitions = [OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(0)])]
    answer = group.ask(OffsetDeleteRequest(group.group_id, partitions), 0)
    assert (answer.error_code, answer.topics) == (ErrorCode.NON_EMPTY_GROUP, [])


@pytest.mark.parametrize("is_committed", [True, False])
def test_markers_decide_about_offsets(group: Group, topic: str, is_committed: bool) -> None:
    assert group.commit(topic, 1) == [0]
    assert group.txn_commit(topic, 2) == [0]
    assert group.txn_commit(topic, 3) == [0]
    assert group.fetch(topic) == (ErrorCode.NONE, 1)
    assert group.fetch(topic, require_stable=True) == (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)
    group.end_transaction(is_committed)
    group.wait_for_offset(topic, 3 if is_committed else 1)


def test_a_later_commit_stands_when_the_transaction_ends(group: Group, topic: str) -> None:
    assert group.txn_commit(topic, 2) == [0]
    assert group.commit(topic, 9) == [0]
    assert group.fetch(topic) == (ErrorCode.NONE, 9)
    group.end_transaction(True)
    group.wait_for_offset(topic, 9)


def test_each_producer_ends_its_own_transaction(group: Group, topic: str) -> None:
    assert group.txn_commit(topic, 2) == [0]
    assert group.txn_commit(topic, 3, producer_id=group.producer_id + 1) == [0]
    group.end_transaction(False, producer_id=group.producer_id + 1)
    assert group.fetch(topic, require_stable=True) == (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)
    group.end_transaction(True)
    group.wait_for_offset(topic, 2)
