"""A principal who may do little or nothing, and what every API answers him in every version.

A story is a list of acts: what he may do meanwhile, and a request. The same on Kafka 2.7.2 and here: both are reached
without authentication, so he is `User:ANONYMOUS`. With `allow.everyone.if.no.acl.found` he may do everything as long as
there are no access rules, which is how the topics and groups come to be; then rules for somebody else about every kind
of resource take all of it away. What he is granted for an act he grants himself, for as long as he may alter the
cluster; the last rule that he removes is that one, and then every API is asked.

A told answer is one line for each run of versions that answer the same, without what differs from run to run.

Run as `python -m tests.compat.denials` it plays the story on Kafka 2.7.2 and writes tests/golden/denied-answers.txt.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import EncodeError
from barnabas.wire.protocol.api_keys import ApiKey
from barnabas.wire.protocol.messages import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    alter_client_quotas,
    alter_configs,
    alter_isr,
    alter_partition_reassignments,
    alter_replica_log_dirs,
    alter_user_scram_credentials,
    api_versions,
    controlled_shutdown,
    create_acls,
    create_delegation_token,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_records,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_configs,
    describe_delegation_token,
    describe_groups,
    describe_log_dirs,
    describe_user_scram_credentials,
    elect_leaders,
    end_txn,
    expire_delegation_token,
    fetch,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leader_and_isr,
    leave_group,
    list_groups,
    list_offsets,
    list_partition_reassignments,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    renew_delegation_token,
    stop_replica,
    sync_group,
    txn_offset_commit,
    update_features,
    update_metadata,
    write_txn_markers,
)
from barnabas.wire.records.builder import BatchBuilder
from tests.compat.raw import ask
from tests.patience import PATIENCE_S

# There; there, and he may describe it (where an act says so); not there; no name at all; one of Kafka's own.
TOPIC, KNOWN, MISSING, ILLEGAL, INTERNAL = "there", "known", "missing", "no/name", "__consumer_offsets"
GROUP, OTHER_GROUP = "g", "other-group"
TXN = "tx"
ME = "User:ANONYMOUS"
SOMEBODY = "User:somebody"

TOPIC_TYPE, GROUP_TYPE, CLUSTER_TYPE, TXN_TYPE, TOKEN_TYPE = 2, 3, 4, 5, 6
LITERAL, PREFIXED = 3, 4
READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = 3, 4, 5, 6, 7, 8
CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = 9, 10, 11, 12
DENY, ALLOW = 2, 3
CLUSTER = "kafka-cluster"

GOLDEN = Path(__file__).parents[1] / "golden/denied-answers.txt"
CONFIG = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
"""What a broker needs for the story to be told."""

Right = tuple[int, str, int]
"""Type of resource, name, operation."""


class Act(NamedTuple):
    """A request.

    Attributes:
        api: Which one.
        make: The request in a version; raises EncodeError where the version can't say it.
        rights: What he may do meanwhile.
        versions: In which ones it is asked; None: in all that Kafka 2.7 has.
    """

    title: str
    api: ApiKey
    make: Callable[[int], Any]
    rights: Sequence[Right] = ()
    versions: Sequence[int] | None = None


def same(title: str, request: Any, rights: Sequence[Right] = (), versions: Sequence[int] | None = None) -> Act:
    """Return an act whose request is the same in every version."""
    return Act(title, ApiKey(request.API_KEY), lambda _: request, rights, versions)


def tells(answer: object) -> object:
    """An answer in plain values, in an order of its own."""
    if answer is None:
        return "closed"
    fields = getattr(answer, "FIELDS", None)
    if fields is not None:
        return {
            name: _error(getattr(answer, name)) if name == "error_code" else tells_field(name, getattr(answer, name))
            for name in fields
            if name not in _LEFT_OUT
        }
    return answer


_LEFT_OUT = frozenset(
    [
        "throttle_time_ms",
        "host",
        "port",
        "cluster_id",
        "log_dir",
        "brokers",
        "append_time_ms",
        "producer_id",
        "log_append_time_ms",
        "partition_size",
        "session_id",
    ]
)


_NOT_AUTHORIZED = re.compile(r"Request .* is not authorized\.$")


def tells_field(name: str, value: object) -> object:
    if isinstance(value, list):
        return sorted((tells(each) for each in value), key=repr)
    if isinstance(value, memoryview | bytes | bytearray):
        # How many bytes of old formats there are is another matter (down-converted-size).
        return "SOME" if len(value) else "NONE"
    if name == "error_message" and isinstance(value, str):
        # Kafka names the connection and its buffers.
        return _NOT_AUTHORIZED.sub("Request ... is not authorized.", value)
    if name in ("member_id", "leader") and isinstance(value, str):
        return bool(value)
    return tells(value) if hasattr(value, "FIELDS") else value


def _error(code: int) -> str:
    return ErrorCode(code).name


def lines_of(answers: Mapping[int, str]) -> list[str]:
    """Answers by version, as one line for each run of versions that say the same."""
    told: list[tuple[int, int, str]] = []
    for version, answer in sorted(answers.items()):
        if told and told[-1][1] == version - 1 and told[-1][2] == answer:
            told[-1] = (told[-1][0], version, answer)
        else:
            told.append((version, version, answer))
    return [
        f"    v{first}-{last} {answer}" if first != last else f"    v{first} {answer}" for first, last, answer in told
    ]


def text_of(value: object) -> str:
    if isinstance(value, dict):
        return "{" + " ".join(f"{key}={text_of(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(text_of, value)) + "]"
    return value if isinstance(value, str) and value.isupper() else repr(value)


def rule(
    resource: Right, principal: str = ME, permission: int = ALLOW, pattern: int = LITERAL
) -> create_acls.AclCreation:
    resource_type, name, operation = resource
    return create_acls.AclCreation(resource_type, name, pattern, principal, "*", operation, permission)


class Broker:
    """Sends requests to a broker whose clients are all the same principal."""

    def __init__(self, bootstrap_servers: str, ranges: Mapping[int, tuple[int, int]]) -> None:
        """Args:
        ranges: First and last version by API key of what it offers.
        """
        self._bootstrap_servers = bootstrap_servers
        self.ranges = ranges

    def ask(self, request: Any, version: int) -> Any:
        return ask(self._bootstrap_servers, request, version)

    def grant(self, rules: Sequence[create_acls.AclCreation]) -> None:
        answer = self.ask(create_acls.CreateAclsRequest(list(rules)), 2)
        assert [each.error_code for each in answer.results] == [0] * len(rules), tells(answer)

    def withdraw(self, rights: Sequence[Right], principal: str = ME) -> None:
        filters = [
            delete_acls.DeleteAclsFilter(resource_type, name, LITERAL, principal, "*", operation, ALLOW)
            for resource_type, name, operation in rights
        ]
        answer = self.ask(delete_acls.DeleteAclsRequest(filters), 2)
        assert [len(each.matching_acls) for each in answer.filter_results] == [1] * len(filters), tells(answer)

    def lock(self) -> None:
        """Take all rights but that of altering the cluster."""
        may_alter = (CLUSTER_TYPE, CLUSTER, ALTER)
        kinds = [(TOPIC_TYPE, "*"), (GROUP_TYPE, "*"), (TXN_TYPE, "*"), (TOKEN_TYPE, "*")]
        # The cluster's last, and in one request: with its first rule nobody may do anything with it any more.
        self.grant([*(rule((kind, name, READ if kind < CLUSTER_TYPE else DESCRIBE), SOMEBODY) for kind, name in kinds)])
        self.grant([rule(may_alter), rule((CLUSTER_TYPE, CLUSTER, ALTER), SOMEBODY)])

    def play(self, act: Act) -> list[str] | None:
        """The lines that tell of an act; None: this broker does not serve the API."""
        if act.api not in self.ranges:
            return None
        first, last = self.ranges[act.api]
        if act.rights:
            self.grant(list(map(rule, act.rights)))
        answers = {}
        for version in act.versions or range(first, last + 1):
            try:
                request = act.make(version)
                answers[version] = text_of(tells(self.ask(request, version)))
            except EncodeError:
                continue
        if act.rights:
            self.withdraw(act.rights)
        return lines_of(answers)


def batch(producer_id: int = -1, is_transactional: bool = False) -> memoryview:
    sequence = 0 if producer_id >= 0 else -1
    builder = BatchBuilder(
        producer_id=producer_id, producer_epoch=sequence, base_sequence=sequence, is_transactional=is_transactional
    )
    builder.append(1_700_000_000_000, None, b"x")
    return memoryview(builder.build())


def _produce(
    names: Sequence[str], transactional_id: str | None = None, producer_id: int = -1, acks: int = -1
) -> Callable[[int], Any]:
    def make(version: int) -> Any:
        records = batch(producer_id, transactional_id is not None)
        data = [produce.TopicProduceData(name, [produce.PartitionProduceData(0, records)]) for name in names]
        return produce.ProduceRequest(transactional_id, acks, 5_000, data)

    return make


def _fetch(names: Sequence[str], replica_id: int = -1, session_epoch: int = -1) -> Callable[[int], Any]:
    def make(version: int) -> Any:
        topics = [
            fetch.FetchTopic(name, [fetch.FetchPartition(0, -1, 0, -1, 0 if version < 5 else -1, 10_000)])
            for name in names
        ]
        return fetch.FetchRequest(
            replica_id=replica_id,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=100_000,
            topics=topics,
            session_epoch=session_epoch if version >= 7 else -1,
        )

    return make


def _list_offsets(names: Sequence[str]) -> Callable[[int], Any]:
    def make(version: int) -> Any:
        topics = [
            list_offsets.ListOffsetsTopic(name, [list_offsets.ListOffsetsPartition(0, -1, -1, 1)]) for name in names
        ]
        return list_offsets.ListOffsetsRequest(-1, 0, topics)

    return make


def _metadata(
    names: Sequence[str] | None, creates: bool = False, with_operations: bool = False
) -> Callable[[int], Any]:
    def make(version: int) -> Any:
        topics: Any = None if names is None else list(map(metadata.MetadataRequestTopic, names))
        if names is None and version == 0:
            topics = []
        return metadata.MetadataRequest(
            topics, creates or version < 4, with_operations and version >= 8, with_operations and version >= 8
        )

    return make


def _offset_commit(names: Sequence[str], group: str = GROUP) -> Callable[[int], Any]:
    def make(version: int) -> Any:
        part = offset_commit.OffsetCommitRequestPartition(0, 1, committed_metadata="")
        topics = [offset_commit.OffsetCommitRequestTopic(name, [part]) for name in names]
        return offset_commit.OffsetCommitRequest(group, -1, "", topics=topics)

    return make


def _offset_fetch(names: Sequence[str] | None, group: str = GROUP) -> Callable[[int], Any]:
    def make(version: int) -> Any:
        topics = None if names is None else [offset_fetch.OffsetFetchRequestTopic(name, [0]) for name in names]
        return offset_fetch.OffsetFetchRequest(group, topics)

    return make


def _txn_offset_commit(names: Sequence[str]) -> Callable[[int], Any]:
    def make(version: int) -> Any:
        part = txn_offset_commit.TxnOffsetCommitRequestPartition(0, 1, -1, "")
        topics = [txn_offset_commit.TxnOffsetCommitRequestTopic(name, [part]) for name in names]
        return txn_offset_commit.TxnOffsetCommitRequest(TXN, GROUP, 9_000, 0, topics=topics)

    return make


def _add_partitions(names: Sequence[str]) -> Callable[[int], Any]:
    topics = [add_partitions_to_txn.AddPartitionsToTxnTopic(name, [0]) for name in names]
    return lambda _: add_partitions_to_txn.AddPartitionsToTxnRequest(TXN, 9_000, 0, topics)


def _create_topics(names: Sequence[str], validates: bool = False) -> Callable[[int], Any]:
    topics = [create_topics.CreatableTopic(name, 1, 1) for name in names]
    return lambda version: create_topics.CreateTopicsRequest(topics, 10_000, validates and version > 0)


def _join(version: int) -> Any:
    protocols = [join_group.JoinGroupRequestProtocol("range", b"")]
    return join_group.JoinGroupRequest(GROUP, 10_000, 10_000, "", None, "consumer", protocols)


def _leave(version: int) -> Any:
    if version < 3:
        return leave_group.LeaveGroupRequest(GROUP, "m")
    return leave_group.LeaveGroupRequest(GROUP, members=[leave_group.MemberIdentity("m", None)])


def _describe_groups(groups: Sequence[str]) -> Callable[[int], Any]:
    return lambda version: describe_groups.DescribeGroupsRequest(list(groups), version >= 3)


def _epochs(names: Sequence[str], replica_id: int = -1) -> Callable[[int], Any]:
    part = offset_for_leader_epoch.OffsetForLeaderPartition(0, -1, 0)
    topics = [offset_for_leader_epoch.OffsetForLeaderTopic(name, [part]) for name in names]
    return lambda version: offset_for_leader_epoch.OffsetForLeaderEpochRequest(
        replica_id if version >= 3 else -2, topics
    )


def _configs(version: int) -> Any:
    wanted = [(2, TOPIC), (2, MISSING), (4, "0"), (4, ""), (8, "0")]
    resources = [describe_configs.DescribeConfigsResource(*each, ["retention.ms", "no.such"]) for each in wanted]
    return describe_configs.DescribeConfigsRequest(resources)


def _alter(version: int) -> Any:
    given = [alter_configs.AlterableConfig("retention.ms", "1000")]
    resources = [
        alter_configs.AlterConfigsResource(*each, given) for each in [(2, TOPIC), (2, MISSING), (4, "0"), (4, "")]
    ]
    return alter_configs.AlterConfigsRequest(resources, True)


def _change(version: int) -> Any:
    given = [incremental_alter_configs.AlterableConfig("retention.ms", 0, "1000")]
    wanted = [(2, TOPIC), (2, MISSING), (4, "0"), (4, ""), (8, "0")]
    resources = [incremental_alter_configs.AlterConfigsResource(*each, given) for each in wanted]
    return incremental_alter_configs.IncrementalAlterConfigsRequest(resources, True)


def _partitions_of(name: str, make: Callable[[str, list[int]], Any]) -> list[Any]:
    return [make(name, [0])]


def _initialize(transactional_id: str | None) -> Callable[[int], Any]:
    return lambda _: init_producer_id.InitProducerIdRequest(transactional_id, 1_000)


def _coordinator(key: str, key_type: int) -> Callable[[int], Any]:
    return lambda _: find_coordinator.FindCoordinatorRequest(key, key_type)


def _records_of(names: Sequence[str]) -> Callable[[int], Any]:
    topics = [delete_records.DeleteRecordsTopic(name, [delete_records.DeleteRecordsPartition(0, 0)]) for name in names]
    return lambda _: delete_records.DeleteRecordsRequest(topics, 1_000)


def _more_partitions(names: Sequence[str]) -> Callable[[int], Any]:
    topics = [create_partitions.CreatePartitionsTopic(name, 2) for name in names]
    return lambda _: create_partitions.CreatePartitionsRequest(topics, 10_000, True)


def _acl_filter(version: int) -> Any:
    return describe_acls.DescribeAclsRequest(1, None, 1 if version else 3, None, None, 1, 1)


_GROUP_READ, _GROUP_DESCRIBE = (GROUP_TYPE, GROUP, READ), (GROUP_TYPE, GROUP, DESCRIBE)
_TXN_WRITE = (TXN_TYPE, TXN, WRITE)
_KNOWN_DESCRIBE = (TOPIC_TYPE, KNOWN, DESCRIBE)
_NAMES = (TOPIC, KNOWN, MISSING, INTERNAL)
_SINCE_BATCHES = range(3, 9)

WITH_SOME_RIGHTS = (
    Act("may describe one topic", ApiKey.METADATA, _metadata([TOPIC, KNOWN, MISSING, ILLEGAL]), [_KNOWN_DESCRIBE]),
    Act(
        "may describe one topic, asks for all",
        ApiKey.METADATA,
        _metadata(None, with_operations=True),
        [_KNOWN_DESCRIBE],
    ),
    Act("may describe a missing topic", ApiKey.METADATA, _metadata([MISSING]), [(TOPIC_TYPE, MISSING, DESCRIBE)], [5]),
    Act(
        "may describe a missing topic, and asks to create it",
        ApiKey.METADATA,
        _metadata([MISSING], True),
        [(TOPIC_TYPE, MISSING, DESCRIBE)],
    ),
    Act(
        "may create a topic, but not describe it",
        ApiKey.METADATA,
        _metadata(["created-1"], True),
        [(TOPIC_TYPE, "created-1", CREATE)],
    ),
    Act(
        "may create any topic, and describe this one",
        ApiKey.METADATA,
        _metadata(["created-2"], True),
        [(TOPIC_TYPE, "created-2", DESCRIBE), (CLUSTER_TYPE, CLUSTER, CREATE)],
        [5],
    ),
    Act(
        "may describe and create this topic",
        ApiKey.METADATA,
        _metadata(["created-3"], True),
        [(TOPIC_TYPE, "created-3", DESCRIBE), (TOPIC_TYPE, "created-3", CREATE)],
        [5],
    ),
    Act(
        "may read and write, alter configs of one topic; create in the cluster",
        ApiKey.METADATA,
        _metadata([KNOWN], with_operations=True),
        [(TOPIC_TYPE, KNOWN, READ), (TOPIC_TYPE, KNOWN, ALTER_CONFIGS), (CLUSTER_TYPE, CLUSTER, CREATE)],
        [8, 9],
    ),
    Act(
        "may write one topic",
        ApiKey.PRODUCE,
        _produce([TOPIC, KNOWN, MISSING]),
        [(TOPIC_TYPE, KNOWN, WRITE)],
        _SINCE_BATCHES,
    ),
    Act(
        "may write a missing topic", ApiKey.PRODUCE, _produce([MISSING]), [(TOPIC_TYPE, MISSING, WRITE)], _SINCE_BATCHES
    ),
    Act(
        "may write one topic, with an impossible acks",
        ApiKey.PRODUCE,
        _produce([TOPIC, KNOWN, MISSING], acks=5),
        [(TOPIC_TYPE, KNOWN, WRITE)],
        _SINCE_BATCHES,
    ),
    Act(
        "may write one topic, wants no acks",
        ApiKey.PRODUCE,
        _produce([TOPIC, KNOWN], acks=0),
        [(TOPIC_TYPE, KNOWN, WRITE)],
        [8],
    ),
    Act(
        "may write the topic, but not idempotently",
        ApiKey.PRODUCE,
        _produce([KNOWN], producer_id=9_000),
        [(TOPIC_TYPE, KNOWN, WRITE)],
        _SINCE_BATCHES,
    ),
    Act(
        "may write idempotently, but not the topic",
        ApiKey.PRODUCE,
        _produce([KNOWN], producer_id=9_000),
        [(CLUSTER_TYPE, CLUSTER, IDEMPOTENT_WRITE)],
        _SINCE_BATCHES,
    ),
    Act(
        "may write the topic, but not with this transactional id",
        ApiKey.PRODUCE,
        _produce([KNOWN], TXN, 9_000),
        [(TOPIC_TYPE, KNOWN, WRITE), (CLUSTER_TYPE, CLUSTER, IDEMPOTENT_WRITE)],
        _SINCE_BATCHES,
    ),
    Act(
        "may write with this transactional id, but not the topic",
        ApiKey.PRODUCE,
        _produce([KNOWN], TXN, 9_000),
        [_TXN_WRITE],
        _SINCE_BATCHES,
    ),
    Act("may read one topic", ApiKey.FETCH, _fetch(_NAMES), [(TOPIC_TYPE, KNOWN, READ)]),
    Act("may read a missing topic", ApiKey.FETCH, _fetch([MISSING]), [(TOPIC_TYPE, MISSING, READ)], [11, 12]),
    Act(
        "may read one topic, begins a session",
        ApiKey.FETCH,
        _fetch([TOPIC, KNOWN], session_epoch=0),
        [(TOPIC_TYPE, KNOWN, READ)],
        range(7, 13),
    ),
    Act("may read one topic, is a follower", ApiKey.FETCH, _fetch([TOPIC, KNOWN], 5), [(TOPIC_TYPE, KNOWN, READ)]),
    Act("may describe one topic", ApiKey.LIST_OFFSETS, _list_offsets(_NAMES), [_KNOWN_DESCRIBE]),
    Act("may describe one topic", ApiKey.OFFSET_FOR_LEADER_EPOCH, _epochs(_NAMES), [_KNOWN_DESCRIBE]),
    Act(
        "may act for the cluster",
        ApiKey.OFFSET_FOR_LEADER_EPOCH,
        _epochs(_NAMES),
        [(CLUSTER_TYPE, CLUSTER, CLUSTER_ACTION)],
    ),
    Act("may read the group, but no topic", ApiKey.OFFSET_COMMIT, _offset_commit(_NAMES), [_GROUP_READ], range(1, 9)),
    Act(
        "may read the group and one topic",
        ApiKey.OFFSET_COMMIT,
        _offset_commit(_NAMES),
        [_GROUP_READ, (TOPIC_TYPE, KNOWN, READ)],
        range(1, 9),
    ),
    Act(
        "may read one topic, but not the group",
        ApiKey.OFFSET_COMMIT,
        _offset_commit(_NAMES),
        [(TOPIC_TYPE, KNOWN, READ)],
        range(1, 9),
    ),
    Act(
        "may describe the group and one topic",
        ApiKey.OFFSET_FETCH,
        _offset_fetch(_NAMES),
        [_GROUP_DESCRIBE, _KNOWN_DESCRIBE],
        range(1, 8),
    ),
    Act(
        "may describe the group and one topic, asks for all",
        ApiKey.OFFSET_FETCH,
        _offset_fetch(None),
        [_GROUP_DESCRIBE, _KNOWN_DESCRIBE],
        range(2, 8),
    ),
    Act(
        "may describe the group, asks for all", ApiKey.OFFSET_FETCH, _offset_fetch(None), [_GROUP_DESCRIBE], range(2, 8)
    ),
    Act("may describe the group", ApiKey.FIND_COORDINATOR, _coordinator(GROUP, 0), [_GROUP_DESCRIBE]),
    Act(
        "may read one group", ApiKey.DESCRIBE_GROUPS, _describe_groups([GROUP, OTHER_GROUP, "no-group"]), [_GROUP_READ]
    ),
    Act(
        "may describe and delete one group",
        ApiKey.DESCRIBE_GROUPS,
        _describe_groups([GROUP]),
        [(GROUP_TYPE, GROUP, DELETE)],
        [3],
    ),
    same("may describe one group", list_groups.ListGroupsRequest(), [_GROUP_DESCRIBE]),
    same("may describe the cluster", list_groups.ListGroupsRequest(), [(CLUSTER_TYPE, CLUSTER, DESCRIBE)]),
    same(
        "may delete a group that is not there",
        delete_groups.DeleteGroupsRequest([GROUP, "no-group"]),
        [(GROUP_TYPE, "no-group", DELETE)],
    ),
    Act(
        "may delete the group, but read no topic",
        ApiKey.OFFSET_DELETE,
        lambda _: _offset_delete([TOPIC, KNOWN, MISSING]),
        [(GROUP_TYPE, GROUP, DELETE)],
    ),
    Act(
        "may delete the group, and read one topic",
        ApiKey.OFFSET_DELETE,
        lambda _: _offset_delete([TOPIC, KNOWN, MISSING]),
        [(GROUP_TYPE, GROUP, DELETE), (TOPIC_TYPE, KNOWN, READ)],
    ),
    Act(
        "may delete a group that is not there, and read one topic",
        ApiKey.OFFSET_DELETE,
        lambda _: _offset_delete([TOPIC, KNOWN, MISSING], "no-group"),
        [(GROUP_TYPE, "no-group", DELETE), (TOPIC_TYPE, KNOWN, READ)],
    ),
    Act(
        "may write with the transactional id, but one topic only",
        ApiKey.ADD_PARTITIONS_TO_TXN,
        _add_partitions(_NAMES),
        [_TXN_WRITE, (TOPIC_TYPE, KNOWN, WRITE)],
    ),
    same(
        "may write with the transactional id, not read the group",
        add_offsets_to_txn.AddOffsetsToTxnRequest(TXN, 9_000, 0, GROUP),
        [_TXN_WRITE],
    ),
    same(
        "may read the group, not write with the transactional id",
        add_offsets_to_txn.AddOffsetsToTxnRequest(TXN, 9_000, 0, GROUP),
        [_GROUP_READ],
    ),
    Act(
        "may write with the transactional id, not read the group",
        ApiKey.TXN_OFFSET_COMMIT,
        _txn_offset_commit(_NAMES),
        [_TXN_WRITE],
    ),
    Act(
        "may write with the transactional id and read the group, but no topic",
        ApiKey.TXN_OFFSET_COMMIT,
        _txn_offset_commit([TOPIC, MISSING]),
        [_TXN_WRITE, _GROUP_READ],
    ),
    Act(
        "may write with the transactional id, read the group and one topic",
        ApiKey.TXN_OFFSET_COMMIT,
        _txn_offset_commit([TOPIC, MISSING, KNOWN]),
        [_TXN_WRITE, _GROUP_READ, (TOPIC_TYPE, MISSING, READ)],
    ),
    Act("may write with the transactional id", ApiKey.INIT_PRODUCER_ID, _initialize(None), [_TXN_WRITE]),
    Act(
        "may create one topic",
        ApiKey.CREATE_TOPICS,
        _create_topics([TOPIC, "new-1", "new-2"], True),
        [(TOPIC_TYPE, "new-1", CREATE)],
        range(1, 7),
    ),
    Act(
        "may create any topic",
        ApiKey.CREATE_TOPICS,
        _create_topics([TOPIC, "new-1", ILLEGAL], True),
        [(CLUSTER_TYPE, CLUSTER, CREATE)],
        range(1, 7),
    ),
    Act(
        "may create one topic, and describe its settings",
        ApiKey.CREATE_TOPICS,
        _create_topics(["new-1"], True),
        [(TOPIC_TYPE, "new-1", CREATE), (TOPIC_TYPE, "new-1", ALTER_CONFIGS)],
        [5],
    ),
    same(
        "may delete a missing topic, and describe one",
        delete_topics.DeleteTopicsRequest([TOPIC, KNOWN, MISSING, "no-such"], 1_000),
        [(TOPIC_TYPE, MISSING, DELETE), _KNOWN_DESCRIBE],
    ),
    Act(
        "may alter one topic",
        ApiKey.CREATE_PARTITIONS,
        _more_partitions([TOPIC, KNOWN, MISSING]),
        [(TOPIC_TYPE, KNOWN, ALTER)],
    ),
    Act(
        "may delete from one topic, and describe another",
        ApiKey.DELETE_RECORDS,
        _records_of([TOPIC, KNOWN, MISSING]),
        [(TOPIC_TYPE, KNOWN, DELETE)],
    ),
    Act(
        "may describe the settings of one topic",
        ApiKey.DESCRIBE_CONFIGS,
        _configs,
        [(TOPIC_TYPE, MISSING, DESCRIBE_CONFIGS)],
    ),
    Act(
        "may describe the cluster's settings",
        ApiKey.DESCRIBE_CONFIGS,
        _configs,
        [(CLUSTER_TYPE, CLUSTER, ALTER_CONFIGS)],
    ),
    Act("may alter the settings of one topic", ApiKey.ALTER_CONFIGS, _alter, [(TOPIC_TYPE, TOPIC, ALTER_CONFIGS)]),
    Act(
        "may alter the settings of a missing topic",
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        _change,
        [(TOPIC_TYPE, MISSING, ALTER_CONFIGS)],
    ),
    same(
        "may describe the cluster",
        list_partition_reassignments.ListPartitionReassignmentsRequest(1_000, None),
        [(CLUSTER_TYPE, CLUSTER, DESCRIBE)],
    ),
)


def _offset_delete(names: Sequence[str], group: str = GROUP) -> Any:
    part = offset_delete.OffsetDeleteRequestPartition(0)
    return offset_delete.OffsetDeleteRequest(
        group, [offset_delete.OffsetDeleteRequestTopic(name, [part]) for name in names]
    )


def _stop_replica(version: int) -> Any:
    if version == 0:
        return stop_replica.StopReplicaRequest(
            1, 1, ungrouped_partitions=[stop_replica.StopReplicaPartitionV0(TOPIC, 0)]
        )
    if version < 3:
        return stop_replica.StopReplicaRequest(1, 1, -1, topics=[stop_replica.StopReplicaTopicV1(TOPIC, [0])])
    states = [stop_replica.StopReplicaTopicState(TOPIC, [stop_replica.StopReplicaPartitionState(0, 1, False)])]
    return stop_replica.StopReplicaRequest(1, 1, -1, topic_states=states)


_TOPICS = [(TOPIC, [0]), (MISSING, [0])]

WITHOUT_RIGHTS = (
    Act("", ApiKey.PRODUCE, _produce([TOPIC, MISSING]), versions=_SINCE_BATCHES),
    Act("", ApiKey.FETCH, _fetch(_NAMES)),
    Act("", ApiKey.LIST_OFFSETS, _list_offsets(_NAMES)),
    Act("", ApiKey.METADATA, _metadata([TOPIC, MISSING, ILLEGAL, INTERNAL], with_operations=True)),
    Act("asks for all", ApiKey.METADATA, _metadata(None, with_operations=True)),
    Act("asks for none", ApiKey.METADATA, _metadata([], with_operations=True), versions=range(1, 10)),
    Act("asks to create", ApiKey.METADATA, _metadata([TOPIC, MISSING], True)),
    same("", leader_and_isr.LeaderAndIsrRequest(1, 1)),
    Act("", ApiKey.STOP_REPLICA, _stop_replica),
    same("", update_metadata.UpdateMetadataRequest(1, 1)),
    same("", controlled_shutdown.ControlledShutdownRequest(5), versions=[1, 2, 3]),
    Act("", ApiKey.OFFSET_COMMIT, _offset_commit(_NAMES)),
    Act("", ApiKey.OFFSET_FETCH, _offset_fetch(_NAMES)),
    Act("asks for all", ApiKey.OFFSET_FETCH, _offset_fetch(None), versions=range(2, 8)),
    Act("of a group", ApiKey.FIND_COORDINATOR, _coordinator(GROUP, 0)),
    Act("of a transactional id", ApiKey.FIND_COORDINATOR, _coordinator(TXN, 1), versions=[1, 2, 3]),
    Act("", ApiKey.JOIN_GROUP, _join),
    same("", heartbeat.HeartbeatRequest(GROUP, 1, "m")),
    Act("", ApiKey.LEAVE_GROUP, _leave),
    same("", sync_group.SyncGroupRequest(GROUP, 1, "m")),
    Act("", ApiKey.DESCRIBE_GROUPS, _describe_groups([GROUP, "no-group"])),
    same("", list_groups.ListGroupsRequest()),
    Act("", ApiKey.CREATE_TOPICS, _create_topics([TOPIC, "new-1"])),
    Act("one twice", ApiKey.CREATE_TOPICS, _create_topics(["new-1", "new-1"])),
    same("", delete_topics.DeleteTopicsRequest([TOPIC, MISSING], 1_000)),
    Act("", ApiKey.DELETE_RECORDS, _records_of([TOPIC, MISSING])),
    Act("idempotent", ApiKey.INIT_PRODUCER_ID, _initialize(None)),
    Act("transactional", ApiKey.INIT_PRODUCER_ID, _initialize(TXN)),
    Act("", ApiKey.OFFSET_FOR_LEADER_EPOCH, _epochs(_NAMES)),
    Act("", ApiKey.ADD_PARTITIONS_TO_TXN, _add_partitions([TOPIC, MISSING])),
    same("", add_offsets_to_txn.AddOffsetsToTxnRequest(TXN, 9_000, 0, GROUP)),
    same("", end_txn.EndTxnRequest(TXN, 9_000, 0, True)),
    same(
        "",
        write_txn_markers.WriteTxnMarkersRequest(
            [
                write_txn_markers.WritableTxnMarker(
                    9_000, 0, True, [write_txn_markers.WritableTxnMarkerTopic(*each) for each in _TOPICS], 0
                )
            ]
        ),
    ),
    Act("", ApiKey.TXN_OFFSET_COMMIT, _txn_offset_commit([TOPIC, MISSING])),
    Act("", ApiKey.DESCRIBE_ACLS, _acl_filter),
    same("", create_acls.CreateAclsRequest([rule((TOPIC_TYPE, TOPIC, READ)), rule((CLUSTER_TYPE, "wrong", READ))])),
    same("", delete_acls.DeleteAclsRequest([delete_acls.DeleteAclsFilter(2, None, 3, None, None, 1, 1)])),
    Act("", ApiKey.DESCRIBE_CONFIGS, _configs),
    Act("", ApiKey.ALTER_CONFIGS, _alter),
    same(
        "",
        alter_replica_log_dirs.AlterReplicaLogDirsRequest(
            [
                alter_replica_log_dirs.AlterReplicaLogDir(
                    "/nowhere", [alter_replica_log_dirs.AlterReplicaLogDirTopic(*each) for each in _TOPICS]
                )
            ]
        ),
    ),
    same("", describe_log_dirs.DescribeLogDirsRequest(None)),
    Act("", ApiKey.CREATE_PARTITIONS, _more_partitions([TOPIC, MISSING])),
    same("", create_delegation_token.CreateDelegationTokenRequest([], 1_000)),
    same("", renew_delegation_token.RenewDelegationTokenRequest(b"x", 1_000)),
    same("", expire_delegation_token.ExpireDelegationTokenRequest(b"x", 1_000)),
    same("", describe_delegation_token.DescribeDelegationTokenRequest(None)),
    same("", delete_groups.DeleteGroupsRequest([GROUP, "no-group"])),
    same("", elect_leaders.ElectLeadersRequest(0, [elect_leaders.TopicPartitions(*each) for each in _TOPICS], 1_000)),
    same("asks for all", elect_leaders.ElectLeadersRequest(0, None, 1_000)),
    Act("", ApiKey.INCREMENTAL_ALTER_CONFIGS, _change),
    same(
        "",
        alter_partition_reassignments.AlterPartitionReassignmentsRequest(
            1_000,
            [
                alter_partition_reassignments.ReassignableTopic(
                    TOPIC, [alter_partition_reassignments.ReassignablePartition(0, [0])]
                )
            ],
        ),
    ),
    same("", list_partition_reassignments.ListPartitionReassignmentsRequest(1_000, None)),
    Act("", ApiKey.OFFSET_DELETE, lambda _: _offset_delete([TOPIC, MISSING])),
    same("", describe_client_quotas.DescribeClientQuotasRequest([], False)),
    same(
        "",
        alter_client_quotas.AlterClientQuotasRequest(
            [
                alter_client_quotas.AlterClientQuotasRequestEntryData(
                    [alter_client_quotas.EntityData("user", "u")],
                    [alter_client_quotas.OpData("producer_byte_rate", 1.0, False)],
                )
            ],
            False,
        ),
    ),
    same("", describe_user_scram_credentials.DescribeUserScramCredentialsRequest(None)),
    same(
        "",
        alter_user_scram_credentials.AlterUserScramCredentialsRequest(
            [alter_user_scram_credentials.ScramCredentialDeletion("u", 1)], []
        ),
    ),
    same(
        "",
        alter_isr.AlterIsrRequest(
            0, 1, [alter_isr.AlterIsrRequestTopicData(TOPIC, [alter_isr.AlterIsrRequestPartitionData(0, 0, [0], 0)])]
        ),
    ),
    same("", update_features.UpdateFeaturesRequest(1_000, [update_features.FeatureUpdateKey("f", 1, False)])),
)


def set_up(broker: Broker) -> None:
    """Make two topics and two groups, while everybody may do everything; the offsets topic comes with the groups."""
    answer = broker.ask(_create_topics([TOPIC, KNOWN])(5), 5)
    assert [each.error_code for each in answer.topics] == [0, 0], tells(answer)
    for group in (GROUP, OTHER_GROUP):
        # The first one lets the topic be made in which groups are kept.
        deadline = time.monotonic() + PATIENCE_S
        error_codes = [-1]
        while any(error_codes):
            assert time.monotonic() < deadline, error_codes
            error_codes = [broker.ask(_coordinator(group, 0)(2), 2).error_code]
            if not any(error_codes):
                answer = broker.ask(_offset_commit([TOPIC, KNOWN], group)(7), 7)
                error_codes = [part.error_code for topic in answer.topics for part in topic.partitions]


def tell_all(broker: Broker) -> Iterator[tuple[str, list[str]]]:
    """Play the whole story; the title of each act, and its lines."""
    broker.lock()
    for act in WITH_SOME_RIGHTS:
        lines = broker.play(act)
        if lines is not None:
            yield f"{api_name(act.api)} {act.title}", lines
    broker.withdraw([(CLUSTER_TYPE, CLUSTER, ALTER)])
    for act in WITHOUT_RIGHTS:
        lines = broker.play(act)
        if lines is not None:
            yield f"{api_name(act.api)} {act.title}".rstrip(), lines


def api_name(api: ApiKey) -> str:
    return "".join(part.capitalize() for part in api.name.split("_"))


def offered(bootstrap_servers: str) -> dict[int, tuple[int, int]]:
    """First and last version by API key of what a broker offers."""
    answer = ask(bootstrap_servers, api_versions.ApiVersionsRequest(), 0)
    return {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}


def story(bootstrap_servers: str) -> dict[str, list[str]]:
    """Tell the whole story of a broker with `CONFIG`; the lines by the titles of the acts."""
    broker = Broker(bootstrap_servers, offered(bootstrap_servers))
    set_up(broker)
    return dict(tell_all(broker))


def main() -> None:
    from tools.kafka.server import ONE_BROKER, QuickKafkaServer

    head = [line for line in GOLDEN.read_text().splitlines() if line.startswith("#")]
    with QuickKafkaServer(config={**ONE_BROKER, **CONFIG}) as server:
        told = [line for title, lines in story(server.bootstrap_servers).items() for line in (title, *lines)]
    GOLDEN.write_text("\n".join([*head, *told, ""]))


if __name__ == "__main__":
    main()
