"""The versions of the requests between brokers, by `inter.broker.protocol.version`.

Connections between brokers send no ApiVersions request first: the table alone decides the version.

Source: Kafka 2.7.2, ApiVersion, ReplicaFetcherThread, ControllerChannelManager; facts of replication, IBP.
"""

from functools import lru_cache
from typing import Final

from barnabas.core.config.versions import KafkaVersion, kafka_version
from barnabas.wire.protocol.api_keys import ApiKey

NOT_USED: Final = -1
"""Brokers with that inter.broker.protocol.version do not send the request."""

# The request's version from each inter.broker.protocol.version on, the newest first; 0 before the oldest entry.
_STEPS: Final[dict[int, tuple[tuple[str, int], ...]]] = {
    ApiKey.FETCH: (
        ("2.7-IV1", 12),
        ("2.3-IV1", 11),
        ("2.1-IV2", 10),
        ("2.0-IV1", 8),
        ("1.1-IV0", 7),
        ("0.11.0-IV1", 5),
        ("0.11.0-IV0", 4),
        ("0.10.1-IV1", 3),
        ("0.10.0-IV0", 2),
        ("0.9.0", 1),
    ),
    ApiKey.LIST_OFFSETS: (
        ("2.2-IV1", 5),
        ("2.1-IV1", 4),
        ("2.0-IV1", 3),
        ("0.11.0-IV0", 2),
        ("0.10.1-IV2", 1),
    ),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (
        ("2.3-IV1", 3),
        ("2.1-IV1", 2),
        ("2.0-IV0", 1),
        ("0.11.0-IV2", 0),
        ("0.8.0", NOT_USED),
    ),
    ApiKey.LEADER_AND_ISR: (("2.4-IV1", 4), ("2.4-IV0", 3), ("2.2-IV0", 2), ("1.0-IV0", 1)),
    ApiKey.STOP_REPLICA: (("2.6-IV0", 3), ("2.4-IV1", 2), ("2.2-IV0", 1)),
    ApiKey.UPDATE_METADATA: (
        ("2.4-IV1", 6),
        ("2.2-IV0", 5),
        ("1.0-IV0", 4),
        ("0.10.2-IV0", 3),
        ("0.10.0-IV1", 2),
        ("0.9.0", 1),
    ),
    ApiKey.CONTROLLED_SHUTDOWN: (("2.4-IV1", 3), ("2.2-IV0", 2), ("0.9.0", 1)),
    ApiKey.ALTER_ISR: (("2.7-IV2", 0), ("0.8.0", NOT_USED)),
    ApiKey.WRITE_TXN_MARKERS: (),
}

_BY_KEY: Final[dict[int, tuple[tuple[KafkaVersion, int], ...]]] = {
    key: tuple((kafka_version(since), version) for since, version in steps) for key, steps in _STEPS.items()
}


@lru_cache(maxsize=128)
def version_of(api_key: int, inter_broker_protocol_version: str) -> int:
    """Return the version of a request to another broker.

    Args:
        api_key: The request's API key.
        inter_broker_protocol_version: The setting, in its long or short form.

    Returns:
        The version; `NOT_USED` if the request is not sent.

    Raises:
        KeyError: The table does not contain the API key.
        ConfigError: The inter-broker protocol version is invalid.
    """
    spoken = kafka_version(inter_broker_protocol_version)
    for since, version in _BY_KEY[api_key]:
        if spoken >= since:
            return version
    return 0
