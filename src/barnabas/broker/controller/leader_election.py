"""Election of partition leaders, and the in-sync replicas that result. Pure.

| election | leader: the first replica that is | ISR afterwards | recipients |
| --- | --- | --- | --- |
| offline | online and in sync | its online members | the online replicas |
| unclean | online and in sync; else online | its online members; else only the leader | the online replicas |
| reassign | a target replica, online and in sync | unchanged | the target replicas |
| preferred | the first of all replicas, if online and in sync | unchanged | all replicas |
| controlled shutdown | online and in sync | members not shutting down | the reachable replicas |

Invariants:

- Every election raises the leader epoch by one, even if it changes nothing else; so does a removal from the ISR, and
  each step of a reassignment.
- The last member of the ISR stays in it when its broker dies: only that broker has all records.

Source: replication.md, elections, state machines; Kafka 2.7.2, Election, ReplicaStateMachine.
"""

from enum import Enum
from typing import NamedTuple

from barnabas.broker.controller.state import FIRST_LEADER_EPOCH, NO_LEADER, ControllerState
from barnabas.core.types import TopicPartition
from barnabas.wire.registry.znodes.topics import PartitionStateNode


class Strategy(Enum):
    """Why a leader is elected."""

    OFFLINE = "OfflinePartitionLeaderElectionStrategy(false)"
    UNCLEAN = "OfflinePartitionLeaderElectionStrategy(true)"
    REASSIGN = "ReassignPartitionLeaderElectionStrategy"
    PREFERRED = "PreferredReplicaPartitionLeaderElectionStrategy"
    CONTROLLED_SHUTDOWN = "ControlledShutdownPartitionLeaderElectionStrategy"


class Elected(NamedTuple):
    """The outcome of an election.

    Attributes:
        node: The state to write; None: no replica can lead.
        recipients: The replicas that get the new state.
    """

    node: PartitionStateNode | None
    recipients: list[int]


def first_state(state: ControllerState, partition: TopicPartition) -> PartitionStateNode | None:
    """Return a new partition's state: first live replica leads, live ones are in sync; None if none is alive."""
    alive = tuple(replica for replica in state.replicas(partition) if state.is_online(replica, partition))
    if not alive:
        return None
    return PartitionStateNode(alive[0], FIRST_LEADER_EPOCH, alive, state.epoch)


def elect(
    state: ControllerState,
    partition: TopicPartition,
    current: PartitionStateNode,
    strategy: Strategy,
    is_unclean_allowed: bool = False,
) -> Elected:
    """Choose a leader.

    Args:
        current: The state in the registry.
        is_unclean_allowed: Whether a replica that is not in sync may lead, with the offline strategy.
    """
    replicas = state.replicas(partition)
    online = [replica for replica in replicas if state.is_online(replica, partition)]
    in_sync = [replica for replica in online if replica in current.isr]
    isr = current.isr
    match strategy:
        case Strategy.OFFLINE | Strategy.UNCLEAN:
            recipients = online
            if in_sync:
                leader, isr = in_sync[0], tuple(replica for replica in isr if state.is_online(replica, partition))
            elif online and (is_unclean_allowed or strategy is Strategy.UNCLEAN):
                # Records that only the other replicas have are lost: the setting or request allows that.
                leader, isr = online[0], (online[0],)
            else:
                leader = NO_LEADER
        case Strategy.REASSIGN:
            here = state.moving(partition)
            recipients = [] if here is None else here.target
            leader = next((replica for replica in recipients if replica in in_sync), NO_LEADER)
        case Strategy.PREFERRED:
            recipients = replicas
            leader = replicas[0] if replicas and replicas[0] in in_sync else NO_LEADER
        case Strategy.CONTROLLED_SHUTDOWN:
            recipients = [replica for replica in replicas if state.is_reachable(replica, partition)]
            leader = in_sync[0] if in_sync else NO_LEADER
            isr = tuple(replica for replica in isr if replica not in state.shutting_down)
    if leader == NO_LEADER:
        return Elected(None, recipients)
    return Elected(PartitionStateNode(leader, current.leader_epoch + 1, isr, state.epoch), recipients)


def without_replica(current: PartitionStateNode, broker_id: int, controller_epoch: int) -> PartitionStateNode | None:
    """Return the state without a replica in the ISR; None: it was not in the ISR."""
    if broker_id not in current.isr:
        return None
    leader = NO_LEADER if current.leader == broker_id else current.leader
    isr = current.isr if len(current.isr) == 1 else tuple(each for each in current.isr if each != broker_id)
    return PartitionStateNode(leader, current.leader_epoch + 1, isr, controller_epoch)


def unnoticed_returns(
    state: ControllerState, partition: TopicPartition, current: PartitionStateNode, written_zxid: int
) -> list[int]:
    """Return in-sync replicas that restarted after the state was written, if another in-sync one did not.

    A controller that notices an absence removes the replica from the ISR, and the leader adds it again in another
    write. So no controller noticed these restarts, and the replicas may have lost acknowledged records.

    Args:
        written_zxid: The transaction that wrote `current`.
    """
    alive = [replica for replica in current.isr if state.is_online(replica, partition)]
    returned = [replica for replica in alive if state.brokers[replica].epoch > written_zxid]
    return returned if len(returned) < len(alive) else []


def raised(current: PartitionStateNode, controller_epoch: int) -> PartitionStateNode:
    """Return the same state in the next epoch, so that brokers accept the other changes sent with it."""
    return PartitionStateNode(current.leader, current.leader_epoch + 1, current.isr, controller_epoch)


def is_preferred_possible(state: ControllerState, partition: TopicPartition) -> bool:
    """Return whether the first replica could lead now."""
    replicas, leadership = state.replicas(partition), state.leaders.get(partition)
    return (
        leadership is not None
        and bool(replicas)
        and replicas[0] in leadership.node.isr
        and state.is_online(replicas[0], partition)
    )
