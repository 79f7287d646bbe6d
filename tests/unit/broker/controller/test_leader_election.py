"""Who is elected, and who stays in sync."""

import pytest

from barnabas.broker.controller.leader_election import (
    Strategy,
    elect,
    first_state,
    raised,
    unnoticed_returns,
    without_replica,
)
from barnabas.broker.controller.state import ControllerState, LiveBroker
from barnabas.core.types import TopicPartition
from barnabas.wire.registry.znodes.brokers import BrokerRegistration
from barnabas.wire.registry.znodes.topics import PartitionStateNode, TopicAssignment

T0 = TopicPartition("t", 0)


def state_of(
    replicas: list[int], live: set[int], stopping: set[int] | None = None, failed: set[int] | None = None
) -> ControllerState:
    """Controller epoch 2, and partition t-0."""
    state = ControllerState(2, 2)
    state.brokers = {broker_id: LiveBroker(BrokerRegistration(broker_id, ()), broker_id) for broker_id in live}
    state.shutting_down = stopping or set()
    state.failed_replicas = {broker_id: {T0} for broker_id in failed or ()}
    state.topics["t"] = TopicAssignment({0: replicas})
    return state


def test_the_first_live_replica_leads_a_new_partition() -> None:
    assert first_state(state_of([2, 1, 3], {1, 3}), T0) == PartitionStateNode(1, 0, (1, 3), 2)
    assert first_state(state_of([2, 1, 3], {1, 2, 3}, stopping={2}), T0) == PartitionStateNode(1, 0, (1, 3), 2)
    assert first_state(state_of([2], {1, 3}), T0) is None


@pytest.mark.parametrize(
    ("strategy", "isr", "live", "stopping", "leader", "new_isr", "recipients"),
    [
        (Strategy.OFFLINE, (1, 2), {1, 2, 3}, set(), 1, (1, 2), [1, 2, 3]),
        (Strategy.OFFLINE, (1, 2), {2, 3}, set(), 2, (2,), [2, 3]),
        (Strategy.OFFLINE, (3, 1, 2), {2, 3}, set(), 2, (3, 2), [2, 3]),
        (Strategy.OFFLINE, (1, 2), {1, 2, 3}, {1}, 2, (2,), [2, 3]),
        (Strategy.OFFLINE, (1,), {2, 3}, set(), None, None, [2, 3]),
        (Strategy.UNCLEAN, (1,), {2, 3}, set(), 2, (2,), [2, 3]),
        (Strategy.UNCLEAN, (1, 3), {2, 3}, set(), 3, (3,), [2, 3]),
        (Strategy.UNCLEAN, (1,), set(), set(), None, None, []),
        (Strategy.PREFERRED, (2, 1), {1, 2}, set(), 1, (2, 1), [1, 2, 3]),
        (Strategy.PREFERRED, (2,), {1, 2}, set(), None, None, [1, 2, 3]),
        (Strategy.PREFERRED, (2, 1), {2}, set(), None, None, [1, 2, 3]),
        (Strategy.PREFERRED, (2, 1), {1, 2}, {1}, None, None, [1, 2, 3]),
        (Strategy.CONTROLLED_SHUTDOWN, (1, 2), {1, 2, 3}, {1}, 2, (2,), [1, 2, 3]),
        (Strategy.CONTROLLED_SHUTDOWN, (1,), {1, 2, 3}, {1}, None, None, [1, 2, 3]),
        (Strategy.CONTROLLED_SHUTDOWN, (1, 2, 3), {1, 3}, {1}, 3, (2, 3), [1, 3]),
    ],
)
def test_who_is_elected(strategy, isr, live, stopping, leader, new_isr, recipients) -> None:
    found = elect(state_of([1, 2, 3], live, stopping), T0, PartitionStateNode(1, 7, isr, 1), strategy)
    expected = None if leader is None else PartitionStateNode(leader, 8, new_isr, 2)
    assert found == (expected, recipients)


def test_one_that_is_not_in_sync_leads_only_where_that_is_allowed() -> None:
    state, current = state_of([1, 2], {2}), PartitionStateNode(-1, 7, (1,), 1)
    assert elect(state, T0, current, Strategy.OFFLINE, True).node == PartitionStateNode(2, 8, (2,), 2)
    assert elect(state, T0, current, Strategy.OFFLINE).node is None


def test_a_reassignment_elects_among_those_that_stay() -> None:
    state = state_of([2, 3, 1], {1, 2, 3})
    state.topics["t"].adding[0], state.topics["t"].removing[0] = [3], [1]
    found = elect(state, T0, PartitionStateNode(1, 7, (1, 3, 2), 1), Strategy.REASSIGN)
    assert found == (PartitionStateNode(2, 8, (1, 3, 2), 2), [2, 3])


def test_a_replica_on_a_failed_directory_leads_nothing() -> None:
    found = elect(state_of([1, 2], {1, 2}, failed={1}), T0, PartitionStateNode(1, 7, (1, 2), 1), Strategy.OFFLINE)
    assert found == (PartitionStateNode(2, 8, (2,), 2), [2])


def test_a_replica_leaves_those_in_sync_but_the_last_one_stays() -> None:
    assert without_replica(PartitionStateNode(1, 7, (1, 2), 1), 1, 2) == PartitionStateNode(-1, 8, (2,), 2)
    assert without_replica(PartitionStateNode(1, 7, (1, 2), 1), 2, 2) == PartitionStateNode(1, 8, (1,), 2)
    assert without_replica(PartitionStateNode(1, 7, (1,), 1), 1, 2) == PartitionStateNode(-1, 8, (1,), 2)
    assert without_replica(PartitionStateNode(1, 7, (1,), 1), 2, 2) is None
    assert raised(PartitionStateNode(1, 7, (1,), 1), 2) == PartitionStateNode(1, 8, (1,), 2)


@pytest.mark.parametrize(
    ("isr", "live", "stopping", "written_zxid", "returned"),
    [
        ((1, 2, 3), {1, 2, 3}, set(), 3, []),
        ((1, 2, 3), {1, 2, 3}, set(), 2, [3]),
        ((3, 2, 1), {1, 2, 3}, set(), 1, [3, 2]),
        # All came back: nobody has more than the others.
        ((1, 2, 3), {1, 2, 3}, set(), 0, []),
        ((3,), {1, 2, 3}, set(), 1, []),
        # Who never was away is gone, or about to go.
        ((1, 2), {2, 3}, set(), 1, []),
        ((1, 2), {1, 2}, {1}, 1, []),
    ],
)
def test_who_came_back_after_the_state_was_written_was_away(isr, live, stopping, written_zxid, returned) -> None:
    # A broker's epoch is its id.
    state, current = state_of([1, 2, 3], live, stopping), PartitionStateNode(isr[0], 7, isr, 1)
    assert unnoticed_returns(state, T0, current, written_zxid) == returned
