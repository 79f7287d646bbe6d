"""Leader elections on request: preferred or unclean.

Also elects preferred leaders periodically, for brokers that lead too few of their partitions.

Source: replication.md, preferred leaders; semantics, ElectLeaders; KIP-183, KIP-460.
"""

import logging
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import NamedTuple

from barnabas.broker.controller.context import ControllerContext
from barnabas.broker.controller.leader_election import Strategy, is_preferred_possible
from barnabas.broker.controller.partition_states import bring_online
from barnabas.broker.controller.reassignment import complete_reassignments
from barnabas.broker.controller.state import NO_LEADER, ControllerState
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition

log = logging.getLogger(__name__)


class Election(Enum):
    """Type of an election; the protocol's numbers."""

    PREFERRED = 0
    UNCLEAN = 1


class ElectionResult(NamedTuple):
    """The result of one partition's election.

    Attributes:
        leader: The new leader; -1 with an error.
    """

    error_code: ErrorCode
    message: str | None = None
    leader: int = NO_LEADER


_NOT_NEEDED = ElectionResult(ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")
_UNKNOWN = ElectionResult(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
_DELETING = ElectionResult(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic is being deleted")
_STRATEGIES = {Election.PREFERRED: Strategy.PREFERRED, Election.UNCLEAN: Strategy.UNCLEAN}
# differs from Kafka (election-without-a-first-leader): Kafka never answers if the partition never had a leader.
_REFUSALS = {
    Election.PREFERRED: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
    Election.UNCLEAN: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
}


async def elect_leaders(
    context: ControllerContext, wanted: Iterable[TopicPartition], election: Election
) -> dict[TopicPartition, ElectionResult]:
    """Elect leaders for partitions that need one and can have one.

    Raises:
        ControllerMovedError: This broker is no longer the controller.
    """
    results: dict[TopicPartition, ElectionResult] = {}
    needed = []
    for partition in wanted:
        refusal = _refusal(context.state, partition, election)
        if refusal is None:
            needed.append(partition)
        else:
            results[partition] = refusal
    # A partition that never had a leader cannot have an election.
    elected = await bring_online(
        context, [each for each in needed if each in context.state.leaders], _STRATEGIES[election]
    )
    for partition in needed:
        if partition in elected:
            results[partition] = ElectionResult(ErrorCode.NONE, None, context.state.leaders[partition].node.leader)
        else:
            message = f"Failed to elect leader for partition {partition} under strategy {_STRATEGIES[election].value}"
            results[partition] = ElectionResult(_REFUSALS[election], message)
    # A reassignment may only have waited for this leader, which was elected although it was not in sync.
    await complete_reassignments(context, elected)
    return results


def _refusal(state: ControllerState, partition: TopicPartition, election: Election) -> ElectionResult | None:
    """Return the reason not to elect a leader for a partition; None: elect one."""
    replicas = state.replicas(partition)
    if not replicas:
        return _UNKNOWN
    if partition.topic in state.deleting:
        return _DELETING
    leadership = state.leaders.get(partition)
    if leadership is not None:
        leader = leadership.node.leader
        if (leader == replicas[0]) if election is Election.PREFERRED else state.is_online(leader, partition):
            return _NOT_NEEDED
    return None


async def balance_leaders(context: ControllerContext) -> None:
    """Elect preferred leaders for brokers that lead too few of the partitions they should lead."""
    state = context.state
    preferred: dict[int, list[TopicPartition]] = {}
    for partition, leadership in state.leaders.items():
        replicas = state.replicas(partition)
        if replicas and partition.topic not in state.deleting and leadership is not None:
            preferred.setdefault(replicas[0], []).append(partition)
    for broker_id in sorted(preferred):
        elsewhere = _led_elsewhere(state, preferred[broker_id])
        ratio = len(elsewhere) / len(preferred[broker_id])
        if ratio * 100 <= context.config.leader_imbalance_per_broker_percentage or state.reassignments():
            continue
        possible = [partition for partition in elsewhere if is_preferred_possible(state, partition)]
        if possible:
            log.info("electing broker %d as preferred leader of %d partitions", broker_id, len(possible))
            await bring_online(context, possible, Strategy.PREFERRED)


def _led_elsewhere(state: ControllerState, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
    return [each for each in partitions if state.leaders[each].node.leader != state.replicas(each)[0]]
