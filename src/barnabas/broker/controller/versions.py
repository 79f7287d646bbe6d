"""Which version of a control request the brokers of an inter.broker.protocol.version read.

Source: replication.md, IBP.
"""

from barnabas.core.config.versions import KafkaVersion, kafka_version
from barnabas.wire.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from barnabas.wire.protocol.messages.stop_replica import StopReplicaRequest
from barnabas.wire.protocol.messages.update_metadata import UpdateMetadataRequest

_SINCE: dict[int, tuple[str, ...]] = {
    LeaderAndIsrRequest.API_KEY: ("1.0-IV0", "2.2-IV0", "2.4-IV0", "2.4-IV1"),
    UpdateMetadataRequest.API_KEY: ("0.9.0", "0.10.0-IV1", "0.10.2-IV0", "1.0-IV0", "2.2-IV0", "2.4-IV1"),
    StopReplicaRequest.API_KEY: ("2.2-IV0", "2.4-IV1", "2.6-IV0"),
}
"""The protocol version from which on each version of a request, from 1, is sent."""


def version_of(api_key: int, protocol: KafkaVersion) -> int:
    """Return the version in which a control request is sent."""
    return sum(protocol >= kafka_version(since) for since in _SINCE[api_key])
