"""Choice of the preferred read replica: one in the consumer's rack, if the leader is in another rack. Pure.

Invariant: the chosen replica is in sync and has the requested offset, so the consumer can resume there.

Source: semantics, Fetch (preferred read replica); KIP-392; Kafka 2.7.2, RackAwareReplicaSelector.
"""

from collections.abc import Callable
from typing import Final

from barnabas.broker.replicas.isr import ReplicaSet

NO_REPLICA: Final = -1


def preferred_read_replica(replicas: ReplicaSet, offset: int, rack: str, rack_of: Callable[[int], str | None]) -> int:
    """Return the follower that a consumer in a rack reads an offset from; NO_REPLICA: it reads from the leader.

    Args:
        replicas: The replicas as known to the leader.
        rack_of: Returns the rack of a broker; None: it has none, or consumers cannot reach it.
    """
    if rack_of(replicas.broker_id) == rack:
        return NO_REPLICA
    # differs from Kafka (nearer-replica): Kafka may also choose a replica that is out of sync (KAFKA-14372).
    near = [
        (follower.end_offset, follower.caught_up_ms, -broker_id)
        for broker_id, follower in replicas.followers.items()
        if broker_id in replicas.isr
        and follower.log_start_offset <= offset <= follower.end_offset
        and rack_of(broker_id) == rack
    ]
    return -max(near)[2] if near else NO_REPLICA
