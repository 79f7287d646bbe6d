"""Elections that an administrator asks for: back to the preferred leader, or to a replica that is not in sync.

Source: semantics, ElectLeaders; KIP-183, KIP-460.
"""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from enum import Enum
from typing import NamedTuple

from barnabas.broker.controller.partitions import change_state
from barnabas.broker.controller.reassignment import complete_reassignments
from barnabas.broker.controller.state import NO_LEADER, ControllerState
from barnabas.broker.controller.work import Outcome
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.wire.registry.store import Registry
from barnabas.wire.registry.znodes.topics import PartitionStateNode

_PARTITIONS_PER_TURN = 500


class Election(Enum):
    """Whom to elect; the numbers are the protocol's."""

    PREFERRED = 0
    UNCLEAN = 1


class ElectionResult(NamedTuple):
    """What came of one partition's election.

    Attributes:
        leader: Who leads from now on; -1 with an error.
    """

    error_code: ErrorCode
    message: str | None = None
    leader: int = NO_LEADER


_NOT_NEEDED = ElectionResult(ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")
_UNKNOWN = ElectionResult(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
_DELETING = ElectionResult(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic is being deleted")
_REFUSALS = {
    # differs from Kafka (election-without-a-first-leader): it never answers where the partition had none yet.
    Election.PREFERRED: (
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        "Failed to elect leader for partition {} under strategy PreferredReplicaPartitionLeaderElectionStrategy",
    ),
    Election.UNCLEAN: (
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        "Failed to elect leader for partition {} under strategy OfflinePartitionLeaderElectionStrategy(true)",
    ),
}


async def elect_leaders(
    registry: Registry, state: ControllerState, wanted: Iterable[TopicPartition], election: Election
) -> Outcome[dict[TopicPartition, ElectionResult]]:
    """Elect leaders where that is needed and possible.

    Raises:
        ControllerMovedError: This broker is controller no more.
    """
    results: dict[TopicPartition, ElectionResult] = {}
    changed: list[TopicPartition] = []
    for number, partition in enumerate(wanted, 1):
        result = results[partition] = await _elect(registry, state, partition, election)
        if result.error_code == ErrorCode.NONE:
            changed.append(partition)
        if number % _PARTITIONS_PER_TURN == 0:
            await asyncio.sleep(0)
    # Who was elected past the replicas in sync may be all that a reassignment waited for.
    completed = await complete_reassignments(registry, state, changed)
    return Outcome(results, changed, completed.removed)


async def _elect(
    registry: Registry, state: ControllerState, partition: TopicPartition, election: Election
) -> ElectionResult:
    replicas = state.replicas(partition)
    if not replicas:
        return _UNKNOWN
    if partition.topic in state.deleting:
        return _DELETING
    leadership = state.leaders.get(partition)
    if leadership is not None:
        leader = leadership.node.leader
        is_needed = leader != replicas[0] if election is Election.PREFERRED else leader not in state.brokers
        if not is_needed:
            return _NOT_NEEDED

        def decide(current: PartitionStateNode) -> PartitionStateNode | None:
            return elected_state(current, replicas, state.brokers.keys(), state.epoch, election)

        if await change_state(registry, state, partition, decide):
            return ElectionResult(ErrorCode.NONE, None, state.leaders[partition].node.leader)
    error_code, message = _REFUSALS[election]
    return ElectionResult(error_code, message.format(partition))


def elected_state(
    current: PartitionStateNode,
    replicas: Sequence[int],
    live: Collection[int],
    controller_epoch: int,
    election: Election,
) -> PartitionStateNode | None:
    """The state with another leader; None: there is none, or it leads already. Pure.

    Args:
        replicas: The assignment, preferred leader first.
    """
    in_sync = [replica for replica in replicas if replica in current.isr and replica in live]
    isr = current.isr
    if election is Election.PREFERRED:
        leader = replicas[0] if replicas[0] in in_sync else NO_LEADER
    elif in_sync:
        leader, isr = in_sync[0], tuple(replica for replica in isr if replica in live)
    else:
        # What only the others had is lost: that is what was asked for.
        leader = next((replica for replica in replicas if replica in live), NO_LEADER)
        isr = (leader,)
    if leader in (NO_LEADER, current.leader):
        return None
    return PartitionStateNode(leader, current.leader_epoch + 1, isr, controller_epoch)
