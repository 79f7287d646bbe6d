"""The controller's door: who is too old is refused, requests have their turns, settings come before replicas."""

import asyncio

import pytest

from barnabas.broker.cluster.image import ClusterView
from barnabas.broker.replicas.control_requests import ControlRequests
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending, Spawner
from barnabas.wire.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState2,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicState,
)
from barnabas.wire.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from barnabas.wire.protocol.messages.update_metadata import UpdateMetadataBroker, UpdateMetadataRequest


class Replicas:
    """Notes what came, and answers when the test says so."""

    def __init__(self) -> None:
        self.came: list[object] = []
        self.answers: list[Pending] = []

    def leader_and_isr(self, request):
        return self._note(request)

    def stop_replica(self, request):
        return self._note(request)

    def _note(self, request):
        self.came.append(request)
        self.answers.append(Pending())
        return self.answers[-1]


class Door:
    def __init__(self) -> None:
        self.replicas = Replicas()
        self.view = ClusterView("c")
        self.loaded: list[list[str]] = []
        self.load_error: Exception | None = None
        self.spawner = Spawner(lambda error: None)
        self.control = ControlRequests(self.replicas, self.view, self.load, self.spawner)
        self.control.registered()

    async def load(self, topics) -> None:
        self.loaded.append(list(topics))
        if self.load_error is not None:
            raise self.load_error
        for topic in topics:
            self.view.set_topic_overrides(topic, {})


@pytest.fixture
def door() -> Door:
    return Door()


def leaders(controller_epoch=1, broker_epoch=-1, *, is_new=False):
    state = LeaderAndIsrPartitionState2(0, leader=1, is_new=is_new)
    return LeaderAndIsrRequest(
        controller_epoch=controller_epoch,
        broker_epoch=broker_epoch,
        topic_states=[LeaderAndIsrTopicState("t", [state])],
    )


def metadata(controller_epoch=1, broker_epoch=-1, brokers=()):
    return UpdateMetadataRequest(
        controller_epoch=controller_epoch,
        broker_epoch=broker_epoch,
        live_brokers=[UpdateMetadataBroker(each) for each in brokers],
    )


def stop(controller_epoch=1, broker_epoch=-1):
    return StopReplicaRequest(controller_epoch=controller_epoch, broker_epoch=broker_epoch)


def code(answer: Pending) -> ErrorCode:
    return ErrorCode(answer.value.error_code)


def test_an_older_controller_changes_nothing(door):
    assert code(door.control.update_metadata(metadata(controller_epoch=5, brokers=[1]))) == ErrorCode.NONE
    refused = door.control.leader_and_isr(leaders(controller_epoch=4)).value
    assert refused.error_code == ErrorCode.STALE_CONTROLLER_EPOCH
    assert [each.error_code for each in refused.partition_errors] == [ErrorCode.STALE_CONTROLLER_EPOCH]
    assert code(door.control.stop_replica(stop(controller_epoch=4))) == ErrorCode.STALE_CONTROLLER_EPOCH
    assert code(door.control.update_metadata(metadata(controller_epoch=4))) == ErrorCode.STALE_CONTROLLER_EPOCH
    assert (list(door.view.image.brokers), door.replicas.came) == ([1], [])


def test_what_was_meant_for_an_earlier_registration_changes_nothing(door):
    door.view.broker_epoch = 10
    assert code(door.control.leader_and_isr(leaders(broker_epoch=9))) == ErrorCode.STALE_BROKER_EPOCH
    assert code(door.control.stop_replica(stop(broker_epoch=9))) == ErrorCode.STALE_BROKER_EPOCH
    assert code(door.control.update_metadata(metadata(7, broker_epoch=9))) == ErrorCode.STALE_BROKER_EPOCH
    # Nor is its controller remembered; without an epoch, or with one that this broker has yet to learn, it counts.
    for broker_epoch in (-1, 10, 11):
        assert code(door.control.update_metadata(metadata(6, broker_epoch))) == ErrorCode.NONE


def test_what_comes_before_this_broker_asks_to_be_registered_is_for_the_one_that_it_was(door):
    """Below protocol 2.2 a request says nothing of that: an empty machine in the place of a broker must not lead."""
    control = ControlRequests(door.replicas, door.view, door.load, door.spawner)
    control.registers()
    early: list[Pending] = [
        control.leader_and_isr(leaders()),
        control.stop_replica(stop()),
        control.update_metadata(metadata(brokers=[3])),
    ]
    assert not any(answer.is_done for answer in early)
    # The one that it was is registered still: it asks again.
    control.registers()
    assert {code(answer) for answer in early} == {ErrorCode.STALE_BROKER_EPOCH}
    assert [each.error_code for each in early[0].value.partition_errors] == [ErrorCode.STALE_BROKER_EPOCH]
    told = control.update_metadata(metadata(brokers=[4]))
    control.registered()
    assert code(told) == ErrorCode.NONE
    assert (door.replicas.came, list(door.view.image.brokers)) == ([], [4])


def test_what_comes_before_this_broker_is_registered_waits_and_is_judged_then(door):
    control = ControlRequests(door.replicas, door.view, door.load, door.spawner)
    door.view.set_topic_overrides("t", {})
    stale, stale_stop = control.leader_and_isr(leaders(broker_epoch=9)), control.stop_replica(stop(broker_epoch=9))
    first, second = control.leader_and_isr(leaders(broker_epoch=10)), control.update_metadata(metadata(brokers=[3]))
    assert (door.replicas.came, list(door.view.image.brokers)) == ([], [])
    door.view.broker_epoch = 10
    control.registered()
    assert (code(stale), code(stale_stop)) == (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.STALE_BROKER_EPOCH)
    assert (len(door.replicas.came), second.is_done) == (1, False)
    door.replicas.answers[0].complete(LeaderAndIsrResponse())
    assert (code(first), code(second)) == (ErrorCode.NONE, ErrorCode.NONE)
    assert list(door.view.image.brokers) == [3]


def test_each_has_its_turn(door):
    door.view.set_topic_overrides("t", {})
    first, second = door.control.leader_and_isr(leaders()), door.control.stop_replica(stop())
    third = door.control.update_metadata(metadata(brokers=[3]))
    assert len(door.replicas.came) == 1
    door.replicas.answers[0].complete(LeaderAndIsrResponse())
    assert (first.is_done, second.is_done, third.is_done) == (True, False, False)
    door.replicas.answers[1].fail(RuntimeError("the disk"))
    assert isinstance(second.error, RuntimeError)
    assert code(third) == ErrorCode.NONE
    assert list(door.view.image.brokers) == [3]


async def test_settings_are_read_before_replicas_are_made(door):
    for is_new, loads in ((False, 1), (False, 1), (True, 2)):
        answer = door.control.leader_and_isr(leaders(is_new=is_new))
        for _ in range(3):
            await asyncio.sleep(0)
        assert len(door.loaded) == loads
        door.replicas.answers[-1].complete(LeaderAndIsrResponse())
        assert answer.is_done
    # Where they can't be read nothing is made, and the next request has its turn.
    door.load_error = OSError("no registry")
    failed = door.control.leader_and_isr(leaders(is_new=True))
    behind = door.control.stop_replica(stop())
    for _ in range(3):
        await asyncio.sleep(0)
    assert failed.error is door.load_error
    door.replicas.answers[-1].complete(StopReplicaResponse())
    assert behind.is_done


def test_what_no_topic_can_be_called_is_refused_by_itself(door):
    request = leaders()
    state = LeaderAndIsrPartitionState2(3, leader=1)
    request.topic_states += [LeaderAndIsrTopicState(name, [state]) for name in ("", "../../etc")]
    door.view.set_topic_overrides("t", {})
    answer = door.control.leader_and_isr(request)
    (came,) = door.replicas.came
    assert [topic.topic_name for topic in came.topic_states] == ["t"]
    door.replicas.answers[0].complete(LeaderAndIsrResponse(0, []))
    refused = [(each.topic_name, each.partition_index, each.error_code) for each in answer.value.partition_errors]
    assert refused == [("", 3, ErrorCode.INVALID_TOPIC_EXCEPTION), ("../../etc", 3, ErrorCode.INVALID_TOPIC_EXCEPTION)]
    assert not door.loaded


def test_partitions_with_a_negative_number_are_refused_one_by_one(door):
    request = leaders()
    request.topic_states[0].partition_states += [LeaderAndIsrPartitionState2(number) for number in (-1, -(2**31))]
    request.topic_states.append(LeaderAndIsrTopicState("hostile", [LeaderAndIsrPartitionState2(-1)]))
    door.view.set_topic_overrides("t", {})
    answer = door.control.leader_and_isr(request)
    (came,) = door.replicas.came
    names = [
        (topic.topic_name, state.partition_index) for topic in came.topic_states for state in topic.partition_states
    ]
    assert names == [("t", 0)]
    door.replicas.answers[0].complete(LeaderAndIsrResponse(0, []))
    refused = [(each.topic_name, each.partition_index, each.error_code) for each in answer.value.partition_errors]
    assert refused == [
        ("t", -1, ErrorCode.INVALID_REQUEST),
        ("t", -(2**31), ErrorCode.INVALID_REQUEST),
        ("hostile", -1, ErrorCode.INVALID_REQUEST),
    ]
