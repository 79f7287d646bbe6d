"""The API keys of Kafka 2.7 and Barnabas, with their versions and the modules of their messages.

Importing this is cheap: a message's module loads on the first use of its class.

Generated from schemas/apis.json and the schemas of the requests by scripts/generate.

Source: protocol guide, "Api keys"; KIP-482 for flexible versions.
"""

from enum import IntEnum
from functools import cache
from importlib import import_module
from typing import Final

from barnabas.wire.protocol.wire import Message

# First flexible version of an API that has none.
NEVER_FLEXIBLE: Final = 32767


class ApiKey(IntEnum):
    """The number of a kind of request."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    ALTER_ISR = 56
    UPDATE_FEATURES = 57
    EXPLAIN_QUOTAS = 10048
    FACTS = 10049


class Api:
    """Properties of one API that are known without loading its messages.

    Attributes:
        key: The API's key.
        message: The schemas' name without `Request` or `Response`.
        module: The module of its messages, in `barnabas.wire.protocol.messages`.
        min_version, max_version: The range of Kafka 2.7.
        first_flexible_version: Where tagged fields begin; NEVER_FLEXIBLE when they do not.
        is_inter_broker: Whether only brokers use it.
        is_private: Whether only Barnabas supports it; ApiVersions does not list it.
    """

    __slots__ = (
        "first_flexible_version",
        "is_inter_broker",
        "is_private",
        "key",
        "max_version",
        "message",
        "min_version",
        "module",
    )

    def __init__(
        self,
        key: ApiKey,
        message: str,
        module: str,
        min_version: int,
        max_version: int,
        first_flexible_version: int,
        is_inter_broker: bool,
        is_private: bool = False,
    ) -> None:
        self.key = key
        self.message = message
        self.module = module
        self.min_version = min_version
        self.max_version = max_version
        self.first_flexible_version = first_flexible_version
        self.is_inter_broker = is_inter_broker
        self.is_private = is_private

    @property
    def request_class_name(self) -> str:
        return f"{self.message}Request"

    @property
    def response_class_name(self) -> str:
        return f"{self.message}Response"


_APIS = (
    Api(ApiKey.PRODUCE, "Produce", "produce", 0, 8, NEVER_FLEXIBLE, False),
    Api(ApiKey.FETCH, "Fetch", "fetch", 0, 12, 12, False),
    Api(ApiKey.LIST_OFFSETS, "ListOffsets", "list_offsets", 0, 5, NEVER_FLEXIBLE, False),
    Api(ApiKey.METADATA, "Metadata", "metadata", 0, 9, 9, False),
    Api(ApiKey.LEADER_AND_ISR, "LeaderAndIsr", "leader_and_isr", 0, 4, 4, True),
    Api(ApiKey.STOP_REPLICA, "StopReplica", "stop_replica", 0, 3, 2, True),
    Api(ApiKey.UPDATE_METADATA, "UpdateMetadata", "update_metadata", 0, 6, 6, True),
    Api(ApiKey.CONTROLLED_SHUTDOWN, "ControlledShutdown", "controlled_shutdown", 0, 3, 3, True),
    Api(ApiKey.OFFSET_COMMIT, "OffsetCommit", "offset_commit", 0, 8, 8, False),
    Api(ApiKey.OFFSET_FETCH, "OffsetFetch", "offset_fetch", 0, 7, 6, False),
    Api(ApiKey.FIND_COORDINATOR, "FindCoordinator", "find_coordinator", 0, 3, 3, False),
    Api(ApiKey.JOIN_GROUP, "JoinGroup", "join_group", 0, 7, 6, False),
    Api(ApiKey.HEARTBEAT, "Heartbeat", "heartbeat", 0, 4, 4, False),
    Api(ApiKey.LEAVE_GROUP, "LeaveGroup", "leave_group", 0, 4, 4, False),
    Api(ApiKey.SYNC_GROUP, "SyncGroup", "sync_group", 0, 5, 4, False),
    Api(ApiKey.DESCRIBE_GROUPS, "DescribeGroups", "describe_groups", 0, 5, 5, False),
    Api(ApiKey.LIST_GROUPS, "ListGroups", "list_groups", 0, 4, 3, False),
    Api(ApiKey.SASL_HANDSHAKE, "SaslHandshake", "sasl_handshake", 0, 1, NEVER_FLEXIBLE, False),
    Api(ApiKey.API_VERSIONS, "ApiVersions", "api_versions", 0, 3, 3, False),
    Api(ApiKey.CREATE_TOPICS, "CreateTopics", "create_topics", 0, 6, 5, False),
    Api(ApiKey.DELETE_TOPICS, "DeleteTopics", "delete_topics", 0, 5, 4, False),
    Api(ApiKey.DELETE_RECORDS, "DeleteRecords", "delete_records", 0, 2, 2, False),
    Api(ApiKey.INIT_PRODUCER_ID, "InitProducerId", "init_producer_id", 0, 4, 2, False),
    Api(ApiKey.OFFSET_FOR_LEADER_EPOCH, "OffsetForLeaderEpoch", "offset_for_leader_epoch", 0, 3, NEVER_FLEXIBLE, False),
    Api(ApiKey.ADD_PARTITIONS_TO_TXN, "AddPartitionsToTxn", "add_partitions_to_txn", 0, 2, NEVER_FLEXIBLE, False),
    Api(ApiKey.ADD_OFFSETS_TO_TXN, "AddOffsetsToTxn", "add_offsets_to_txn", 0, 2, NEVER_FLEXIBLE, False),
    Api(ApiKey.END_TXN, "EndTxn", "end_txn", 0, 2, NEVER_FLEXIBLE, False),
    Api(ApiKey.WRITE_TXN_MARKERS, "WriteTxnMarkers", "write_txn_markers", 0, 0, NEVER_FLEXIBLE, True),
    Api(ApiKey.TXN_OFFSET_COMMIT, "TxnOffsetCommit", "txn_offset_commit", 0, 3, 3, False),
    Api(ApiKey.DESCRIBE_ACLS, "DescribeAcls", "describe_acls", 0, 2, 2, False),
    Api(ApiKey.CREATE_ACLS, "CreateAcls", "create_acls", 0, 2, 2, False),
    Api(ApiKey.DELETE_ACLS, "DeleteAcls", "delete_acls", 0, 2, 2, False),
    Api(ApiKey.DESCRIBE_CONFIGS, "DescribeConfigs", "describe_configs", 0, 3, NEVER_FLEXIBLE, False),
    Api(ApiKey.ALTER_CONFIGS, "AlterConfigs", "alter_configs", 0, 1, NEVER_FLEXIBLE, False),
    Api(ApiKey.ALTER_REPLICA_LOG_DIRS, "AlterReplicaLogDirs", "alter_replica_log_dirs", 0, 1, NEVER_FLEXIBLE, False),
    Api(ApiKey.DESCRIBE_LOG_DIRS, "DescribeLogDirs", "describe_log_dirs", 0, 2, 2, False),
    Api(ApiKey.SASL_AUTHENTICATE, "SaslAuthenticate", "sasl_authenticate", 0, 2, 2, False),
    Api(ApiKey.CREATE_PARTITIONS, "CreatePartitions", "create_partitions", 0, 3, 2, False),
    Api(ApiKey.CREATE_DELEGATION_TOKEN, "CreateDelegationToken", "create_delegation_token", 0, 2, 2, False),
    Api(ApiKey.RENEW_DELEGATION_TOKEN, "RenewDelegationToken", "renew_delegation_token", 0, 2, 2, False),
    Api(ApiKey.EXPIRE_DELEGATION_TOKEN, "ExpireDelegationToken", "expire_delegation_token", 0, 2, 2, False),
    Api(ApiKey.DESCRIBE_DELEGATION_TOKEN, "DescribeDelegationToken", "describe_delegation_token", 0, 2, 2, False),
    Api(ApiKey.DELETE_GROUPS, "DeleteGroups", "delete_groups", 0, 2, 2, False),
    Api(ApiKey.ELECT_LEADERS, "ElectLeaders", "elect_leaders", 0, 2, 2, False),
    Api(ApiKey.INCREMENTAL_ALTER_CONFIGS, "IncrementalAlterConfigs", "incremental_alter_configs", 0, 1, 1, False),
    Api(
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        "AlterPartitionReassignments",
        "alter_partition_reassignments",
        0,
        0,
        0,
        False,
    ),
    Api(
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        "ListPartitionReassignments",
        "list_partition_reassignments",
        0,
        0,
        0,
        False,
    ),
    Api(ApiKey.OFFSET_DELETE, "OffsetDelete", "offset_delete", 0, 0, NEVER_FLEXIBLE, False),
    Api(ApiKey.DESCRIBE_CLIENT_QUOTAS, "DescribeClientQuotas", "describe_client_quotas", 0, 0, NEVER_FLEXIBLE, False),
    Api(ApiKey.ALTER_CLIENT_QUOTAS, "AlterClientQuotas", "alter_client_quotas", 0, 0, NEVER_FLEXIBLE, False),
    Api(
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
        "DescribeUserScramCredentials",
        "describe_user_scram_credentials",
        0,
        0,
        0,
        False,
    ),
    Api(
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS, "AlterUserScramCredentials", "alter_user_scram_credentials", 0, 0, 0, False
    ),
    Api(ApiKey.ALTER_ISR, "AlterIsr", "alter_isr", 0, 0, 0, True),
    Api(ApiKey.UPDATE_FEATURES, "UpdateFeatures", "update_features", 0, 0, 0, False),
    Api(ApiKey.EXPLAIN_QUOTAS, "ExplainQuotas", "explain_quotas", 0, 0, NEVER_FLEXIBLE, False, True),
    Api(ApiKey.FACTS, "Facts", "facts", 0, 0, NEVER_FLEXIBLE, False, True),
)

APIS: Final[dict[int, Api]] = {int(api.key): api for api in _APIS}

# hot path: of every request's header (benchmarks/micro/test_protocol.py).
FIRST_FLEXIBLE_VERSION: Final[dict[int, int]] = {key: api.first_flexible_version for key, api in APIS.items()}


@cache
def request_class(key: int) -> type[Message]:
    """Return the class of an API's requests; load its module on first use.

    Raises:
        KeyError: No API has this key.
    """
    api = APIS[key]
    return _message_class(api.module, api.request_class_name)


@cache
def response_class(key: int) -> type[Message]:
    """Return the class of an API's responses; load its module on first use.

    Raises:
        KeyError: No API has this key.
    """
    api = APIS[key]
    return _message_class(api.module, api.response_class_name)


def _message_class(module: str, name: str) -> type[Message]:
    found: type[Message] = getattr(import_module(f"barnabas.wire.protocol.messages.{module}"), name)
    return found
