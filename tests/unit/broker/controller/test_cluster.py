"""The controller of several brokers, beyond what the recordings show: what fails, what makes no sense, what is late."""

import logging

import pytest

from barnabas.broker.controller.controller import FIRST_BALANCE_MS
from barnabas.broker.controller.requests import ControlRequest, ControlResponse
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition
from barnabas.wire.protocol.messages.alter_isr import (
    AlterIsrRequest,
    AlterIsrRequestPartitionData,
    AlterIsrRequestTopicData,
    AlterIsrResponse,
    AlterIsrResponsePartitionData,
)
from barnabas.wire.protocol.messages.controlled_shutdown import ControlledShutdownRequest, RemainingPartition
from barnabas.wire.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
)
from barnabas.wire.protocol.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
)
from barnabas.wire.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from barnabas.wire.protocol.messages.update_metadata import UpdateMetadataRequest
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import CreateOp, DeleteOp, Op, SessionState, SetOp
from barnabas.wire.registry.znodes.brokers import encode_registration
from barnabas.wire.registry.znodes.topics import PartitionStateNode, encode_partition_state
from tests.unit.broker.controller.harness import Cluster, metadata_topics, moving, play, registration, settle, until
from tests.unit.broker.controller.test_controller import leaders_of, put_topic

pytestmark = pytest.mark.played(by=play)

E = ErrorCode
T0 = TopicPartition("t", 0)


def epoch_of(cluster: Cluster, broker_id: int) -> int:
    assert cluster.controller.state is not None
    return cluster.controller.state.brokers[broker_id].epoch


async def three_brokers(cluster: Cluster, replicas: dict[int, list[int]] | None = None) -> None:
    """Brokers 0 (the controller), 1 and 2, and topic t."""
    await cluster.add_broker(1)
    await cluster.add_broker(2)
    replicas = replicas or {0: [1, 2, 0]}
    await put_topic(cluster, "t", replicas)
    await until(lambda: cluster.view.image.has_leaders("t", len(replicas)))
    await settle()


# AlterIsr


async def propose(
    cluster: Cluster, isr: list[int], leader: int = 1, epoch: int = 0, version: int = 0, broker_epoch: int | None = None
) -> AlterIsrResponse:
    known = epoch_of(cluster, leader) if broker_epoch is None else broker_epoch
    data = AlterIsrRequestPartitionData(0, epoch, isr, version)
    pending = cluster.controller.alter_isr(AlterIsrRequest(leader, known, [AlterIsrRequestTopicData("t", [data])]))
    await settle()
    return pending.value


def only_partition(response: AlterIsrResponse) -> AlterIsrResponsePartitionData:
    assert response.error_code == E.NONE
    return response.topics[0].partitions[0]


async def test_a_proposal_is_written_and_told_to_all(cluster: Cluster, /) -> None:
    await three_brokers(cluster)
    answer = only_partition(await propose(cluster, [1, 0]))
    assert (answer.leader_id, answer.leader_epoch, answer.isr, answer.current_isr_version) == (1, 0, [1, 0], 1)
    assert await cluster.state("t", 0) == PartitionStateNode(1, 0, (1, 0), 1)
    assert cluster.view.image.topics["t"][0].isr == (1, 0)
    # What is so already is answered again, and not written.
    again = only_partition(await propose(cluster, [1, 0]))
    assert (again.error_code, again.current_isr_version) == (E.NONE, 1)


async def test_a_proposal_that_can_not_be_is_refused(cluster: Cluster, /) -> None:
    await three_brokers(cluster)
    assert (await propose(cluster, [1], broker_epoch=1)).error_code == E.STALE_BROKER_EPOCH
    assert (await propose(cluster, [9], leader=9, broker_epoch=1)).error_code == E.STALE_BROKER_EPOCH
    for isr, leader in (([1, 7], 1), ([], 1), ([2, 0], 1), ([1, 1], 1), ([2, 1], 2)):
        assert only_partition(await propose(cluster, isr, leader)).error_code == E.INVALID_REQUEST, isr
    assert only_partition(await propose(cluster, [1], epoch=-1)).error_code == E.FENCED_LEADER_EPOCH
    assert only_partition(await propose(cluster, [1], epoch=3)).error_code == E.INVALID_REQUEST
    assert only_partition(await propose(cluster, [1], version=5)).error_code == E.INVALID_UPDATE_VERSION
    assert await cluster.state("t", 0) == PartitionStateNode(1, 0, (1, 2, 0), 1)
    unknown = AlterIsrRequestTopicData("none", [AlterIsrRequestPartitionData(0, 0, [1], 0)])
    pending = cluster.controller.alter_isr(AlterIsrRequest(1, epoch_of(cluster, 1), [unknown]))
    await settle()
    assert only_partition(pending.value).error_code == E.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_broker_that_is_gone_or_stops_is_not_taken_back_in_sync(cluster: Cluster, /) -> None:
    await three_brokers(cluster)
    only_partition(await propose(cluster, [1, 0]))
    cluster.controller.controlled_shutdown(ControlledShutdownRequest(2, epoch_of(cluster, 2)))
    await settle()
    state = await cluster.state("t", 0)
    _, stat = await cluster.registry.get(paths.partition_state("t", 0))
    answer = only_partition(await propose(cluster, [1, 0, 2], epoch=state.leader_epoch, version=stat.version))
    # The leader takes what the answer says, and goes on.
    assert (answer.error_code, answer.isr) == (E.NONE, [1, 0])
    assert (await cluster.state("t", 0)).isr == (1, 0)


async def test_who_asks_one_that_is_not_the_controller_hears_so(cluster: Cluster, /) -> None:
    await three_brokers(cluster)
    known = epoch_of(cluster, 1)
    waiting = cluster.controller.alter_isr(AlterIsrRequest(1, known, []))
    leaving = cluster.controller.controlled_shutdown(ControlledShutdownRequest(1, known))
    cluster.registry._session_listeners.tell(SessionState.EXPIRED)
    assert waiting.value.error_code == E.NOT_CONTROLLER
    assert leaving.value.error_code == E.STALE_CONTROLLER_EPOCH
    assert cluster.controller.alter_isr(AlterIsrRequest(1, known, [])).value.error_code == E.NOT_CONTROLLER
    features = cluster.controller.update_features(UpdateFeaturesRequest())
    assert features.value.error_code == E.NOT_CONTROLLER


# Controlled shutdown


async def test_a_broker_that_stops_leads_nothing_that_another_one_can_lead(cluster: Cluster, /) -> None:
    await three_brokers(cluster, {0: [1, 2], 1: [2, 1], 2: [1]})
    old = cluster.controller.controlled_shutdown(ControlledShutdownRequest(1, epoch_of(cluster, 1) - 1))
    stranger = cluster.controller.controlled_shutdown(ControlledShutdownRequest(9, 5))
    old_stranger = cluster.controller.controlled_shutdown(ControlledShutdownRequest(9, -1))
    done = cluster.controller.controlled_shutdown(ControlledShutdownRequest(1, -1))
    await settle()
    assert old.value.error_code == E.STALE_BROKER_EPOCH
    assert stranger.value.error_code == E.UNKNOWN_SERVER_ERROR
    assert old_stranger.value.error_code == E.BROKER_NOT_AVAILABLE
    # One with a single replica is none of its business.
    assert (done.value.error_code, done.value.remaining_partitions) == (E.NONE, [])
    assert await cluster.state("t", 0) == PartitionStateNode(2, 1, (2,), 1)
    assert await cluster.state("t", 1) == PartitionStateNode(2, 1, (2,), 1)
    assert await cluster.state("t", 2) == PartitionStateNode(1, 0, (1,), 1)
    # The other one is the last that has it.
    last = cluster.controller.controlled_shutdown(ControlledShutdownRequest(2, epoch_of(cluster, 2)))
    await settle()
    assert last.value.remaining_partitions == [RemainingPartition("t", 0), RemainingPartition("t", 1)]


# Brokers


async def test_a_broker_that_bounced_is_one_that_failed_and_came(cluster: Cluster, /) -> None:
    await three_brokers(cluster, {0: [1, 2]})
    data, path = encode_registration(registration(1)), paths.broker(1)
    before = epoch_of(cluster, 1)
    await cluster.registry.multi([DeleteOp(path), CreateOp(path, is_ephemeral=True), SetOp(path, data)])
    await settle()
    assert epoch_of(cluster, 1) > before
    assert await cluster.state("t", 0) == PartitionStateNode(2, 1, (2,), 1)
    # In its new life it hears of everything before it is told what it hosts.
    first, *_ = cluster.links[1].requests
    assert isinstance(first, UpdateMetadataRequest)
    assert metadata_topics(first) == {"t": {0: 2}}
    assert all(each.broker_epoch == epoch_of(cluster, 1) for each in cluster.links[1].requests)
    assert leaders_of(cluster.links[1].of(LeaderAndIsrRequest)[0]) == {("t", 0): (2, 1, False)}


async def test_a_broker_that_bounced_while_another_one_came_hears_nothing_that_was_for_the_one_before(
    cluster: Cluster, /
) -> None:
    await three_brokers(cluster, {0: [1, 2]})
    before = cluster.links[1]
    data, path = encode_registration(registration(1)), paths.broker(1)
    # Seen at once.
    other, other_data = paths.broker(3), encode_registration(registration(3))
    bounce: list[Op] = [DeleteOp(path), CreateOp(path, is_ephemeral=True), SetOp(path, data)]
    await cluster.registry.multi([*bounce, CreateOp(other, is_ephemeral=True), SetOp(other, other_data)])
    await settle()
    assert cluster.links[1] is not before
    # A request of an earlier epoch would be refused, and nothing more sent.
    assert {each.broker_epoch for each in cluster.links[1].requests} == {epoch_of(cluster, 1)}
    first, *_ = cluster.links[1].requests
    assert isinstance(first, UpdateMetadataRequest)
    assert metadata_topics(first) == {"t": {0: 2}}
    assert {each.id for each in first.live_brokers} == {0, 1, 2, 3}


async def test_who_was_away_when_there_was_no_controller_does_not_lead(cluster: Cluster, /) -> None:
    await three_brokers(cluster, {0: [1, 2], 1: [2, 1], 2: [1]})
    data, path = encode_registration(registration(1)), paths.broker(1)
    cluster.registry._session_listeners.tell(SessionState.EXPIRED)
    await cluster.registry.multi([DeleteOp(path), CreateOp(path, is_ephemeral=True), SetOp(path, data)])
    cluster.registry._session_listeners.tell(SessionState.CONNECTED)
    await settle()
    # Without a leader first, as with any broker that is found dead.
    assert await cluster.state("t", 0) == PartitionStateNode(2, 2, (2,), 1)
    assert await cluster.state("t", 1) == PartitionStateNode(2, 1, (2,), 1)
    # Nobody else has it.
    assert await cluster.state("t", 2) == PartitionStateNode(1, 0, (1,), 1)
    told = {}
    for each in cluster.links[1].of(LeaderAndIsrRequest):
        told |= leaders_of(each)
    assert told == {("t", 0): (2, 2, False), ("t", 1): (2, 1, False), ("t", 2): (1, 0, False)}


async def test_a_dead_broker_without_replicas_leaves_the_metadata_though_a_partition_has_no_leader(cluster: Cluster, /):
    await three_brokers(cluster, {0: [1]})
    await cluster.remove_broker(1)
    assert (await cluster.state("t", 0)).leader == -1
    await cluster.remove_broker(2)
    assert sorted(cluster.view.image.brokers) == [0]


# Directories


async def test_replicas_on_a_failed_directory_leave_those_in_sync(cluster: Cluster, /) -> None:
    await three_brokers(cluster, {0: [1, 2], 1: [1, 2]})
    link = cluster.links[1]

    def answer(request: ControlRequest) -> ControlResponse | None:
        if not isinstance(request, LeaderAndIsrRequest):
            return None
        errors = [
            LeaderAndIsrPartitionError(
                "t",
                each.partition_index,
                E.KAFKA_STORAGE_ERROR if each.partition_index == 0 else E.STALE_CONTROLLER_EPOCH,
            )
            for each in request.topic_states[0].partition_states
        ]
        return LeaderAndIsrResponse(E.NONE, errors)

    link.answer = answer
    for data in (b'{"version":1,"broker":1,"event":1}', b"nonsense", b'{"broker":77,"event":1}'):
        await cluster.registry.create(f"{paths.LOG_DIR_EVENTS}/log_dir_event_", data, sequence=True)
    await settle()
    assert await cluster.registry.children(paths.LOG_DIR_EVENTS) == []
    assert await cluster.state("t", 0) == PartitionStateNode(2, 1, (2,), 1)
    assert await cluster.state("t", 1) == PartitionStateNode(1, 0, (1, 2), 1)
    assert cluster.view.image.topics["t"][0].offline == (1,)
    # A new directory: it takes the replica again.
    link.answer = None
    await cluster.remove_broker(1)
    await cluster.add_broker(1)
    assert cluster.view.image.topics["t"][0].offline == ()


# Notifications


async def test_states_that_leaders_wrote_are_told_to_all(cluster: Cluster, /, caplog: pytest.LogCaptureFixture) -> None:
    await three_brokers(cluster)
    state = encode_partition_state(PartitionStateNode(1, 0, (1,), 1))
    await cluster.registry.set(paths.partition_state("t", 0), state)
    assert cluster.view.image.topics["t"][0].isr == (1, 2, 0)
    data = b'{"version":1,"partitions":[{"topic":"t","partition":0},{"topic":"none","partition":0}]}'
    for each in (b"nonsense", data):
        await cluster.registry.create(f"{paths.ISR_CHANGES}/isr_change_", each, sequence=True)
    await settle()
    assert cluster.view.image.topics["t"][0].isr == (1,)
    assert await cluster.registry.children(paths.ISR_CHANGES) == []
    assert "isr_change_0000000000 ignored" in caplog.text


# Elections that nobody asked for


async def test_preferred_leaders_get_back_what_is_theirs(cluster: Cluster, /) -> None:
    await three_brokers(cluster, {0: [1, 2], 1: [1, 2]})
    await cluster.remove_broker(1)
    await cluster.add_broker(1)
    assert (await cluster.state("t", 0)).leader == 2
    state = await cluster.state("t", 0)
    _, stat = await cluster.registry.get(paths.partition_state("t", 0))
    only_partition(await propose(cluster, [2, 1], 2, state.leader_epoch, stat.version))
    cluster.clock.advance(FIRST_BALANCE_MS)
    await settle()
    # The other one is not in sync yet.
    assert (await cluster.state("t", 0)).leader == 1
    assert (await cluster.state("t", 1)).leader == 2
    cluster.clock.advance(300_000)
    await settle()
    assert (await cluster.state("t", 1)).leader == 2


@pytest.mark.parametrize("setting", ["auto.leader.rebalance.enable=false", "leader.imbalance.per.broker.percentage=50"])
def test_leaders_stay_where_they_may(setting: str) -> None:
    async def story(cluster: Cluster) -> None:
        await three_brokers(cluster, {0: [1, 2], 1: [1, 2]})
        state = PartitionStateNode(2, 1, (1, 2), 1)
        await cluster.registry.set(paths.partition_state("t", 0), encode_partition_state(state))

    async def anew(cluster: Cluster) -> None:
        cluster.clock.advance(FIRST_BALANCE_MS)
        await settle()
        assert (await cluster.state("t", 0)).leader == 2

    name, _, value = setting.partition("=")
    play(story, anew, overrides={name: value})


async def test_an_unclean_leader_is_elected_as_soon_as_that_is_allowed(cluster: Cluster, /) -> None:
    await three_brokers(cluster, {0: [1, 2]})
    only_partition(await propose(cluster, [1]))
    await cluster.remove_broker(1)
    assert await cluster.state("t", 0) == PartitionStateNode(-1, 1, (1,), 1)
    cluster.controller.allow_unclean_leaders("t")
    await settle()
    assert (await cluster.state("t", 0)).leader == -1
    config = b'{"version":1,"config":{"unclean.leader.election.enable":"true"}}'
    await cluster.registry.set(paths.topic_config("t"), config)
    cluster.controller.allow_unclean_leaders("other")
    await settle()
    assert (await cluster.state("t", 0)).leader == -1
    cluster.controller.allow_unclean_leaders("t")
    await settle()
    assert await cluster.state("t", 0) == PartitionStateNode(2, 2, (2,), 1)
    assert cluster.controller.meters.unclean_election_count == 1


# Deletion


async def test_a_topic_of_which_a_replica_can_not_be_deleted_waits_for_its_broker(cluster: Cluster, /) -> None:
    await three_brokers(cluster)
    link = cluster.links[1]

    def answer(request: ControlRequest) -> ControlResponse | None:
        if not isinstance(request, StopReplicaRequest):
            return None
        return StopReplicaResponse(E.NONE, [StopReplicaPartitionError("t", 0, E.KAFKA_STORAGE_ERROR)])

    link.answer = answer
    await cluster.registry.create(paths.delete_topic("t"))
    await settle()
    assert await cluster.registry.exists(paths.topic("t")) is not None
    assert cluster.controller.is_deleting("t")
    stop_count = len(link.of(StopReplicaRequest))
    await put_topic(cluster, "other", {0: [1, 2]})
    await settle()
    assert len(link.of(StopReplicaRequest)) == stop_count
    await cluster.remove_broker(1)
    await cluster.add_broker(1)
    await settle()
    assert await cluster.registry.exists(paths.topic("t")) is None


async def test_what_a_registration_that_is_over_answers_does_not_hold_up_a_deletion(cluster: Cluster, /) -> None:
    await three_brokers(cluster)

    def answer(request: ControlRequest) -> ControlResponse | None:
        return StopReplicaResponse(E.STALE_BROKER_EPOCH) if isinstance(request, StopReplicaRequest) else None

    cluster.links[1].answer = answer
    await cluster.registry.create(paths.delete_topic("t"))
    await settle()
    assert await cluster.registry.exists(paths.topic("t")) is not None
    assert "t" not in cluster.controller.state.deletion_ineligible
    await cluster.remove_broker(1)
    await cluster.add_broker(1)
    await settle()
    assert await cluster.registry.exists(paths.topic("t")) is None


@pytest.mark.parametrize("is_back", [True, False])
def test_a_replica_that_was_deleted_stays_so_when_its_broker_goes(caplog, is_back: bool) -> None:
    async def story(cluster: Cluster) -> None:
        await three_brokers(cluster)
        await cluster.remove_broker(1)
        await cluster.registry.create(paths.delete_topic("t"))
        await settle()
        # Broker 2 has deleted its own.
        await cluster.remove_broker(2)
        if is_back:
            await cluster.add_broker(2)
            await settle()
        await cluster.add_broker(1)
        await settle()
        assert await cluster.registry.exists(paths.topic("t")) is None

    play(story)
    assert "cannot go from" not in caplog.text


@pytest.mark.parametrize("is_new", [False, True], ids=["old replica", "new replica"])
def test_a_topic_of_a_broker_that_is_about_to_stop_is_deleted_once_that_is_back(caplog, is_new: bool) -> None:
    async def story(cluster: Cluster) -> None:
        await three_brokers(cluster, {0: [1] if is_new else [2]})
        if is_new:
            await cluster.registry.create(
                paths.REASSIGNMENT, b'{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[2]}]}'
            )
            await settle()
            # The deletion waits until a broker returns.
            await cluster.registry.create(paths.delete_topic("t"))
            await settle()
        cluster.controller.controlled_shutdown(ControlledShutdownRequest(2, epoch_of(cluster, 2)))
        if is_new:
            await cluster.remove_broker(1)
            await cluster.add_broker(1)
        else:
            await cluster.registry.create(paths.delete_topic("t"))
        await settle()
        assert await cluster.registry.exists(paths.topic("t")) is not None
        await cluster.remove_broker(2)
        await cluster.add_broker(2)
        await settle()
        assert await cluster.registry.exists(paths.topic("t")) is None

    play(story)
    assert "cannot go from" not in caplog.text


async def test_a_topic_whose_partition_moves_is_deleted_when_that_has_ended(cluster: Cluster, /) -> None:
    await three_brokers(cluster, {0: [1]})
    await cluster.registry.create(
        paths.REASSIGNMENT, b'{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[2]}]}'
    )
    await settle()
    assert moving(cluster)
    await cluster.registry.create(paths.delete_topic("t"))
    await settle()
    assert await cluster.registry.exists(paths.topic("t")) is not None
    state = await cluster.state("t", 0)
    _, stat = await cluster.registry.get(paths.partition_state("t", 0))
    only_partition(await propose(cluster, [1, 2], 1, state.leader_epoch, stat.version))
    await settle()
    assert await cluster.registry.exists(paths.topic("t")) is None
    assert await cluster.registry.exists(paths.REASSIGNMENT) is None


@pytest.mark.played(by=play, overrides={"inter.broker.protocol.version": "2.6", "log.message.format.version": "2.6"})
async def test_a_partition_that_moved_to_a_broker_that_is_away_is_led_when_that_is_back(cluster: Cluster, /) -> None:
    await three_brokers(cluster, {0: [1]})
    await cluster.registry.create(
        paths.REASSIGNMENT, b'{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[2]}]}'
    )
    await settle()
    # It copies on for as long as its leader lets it, whatever became of its session.
    await cluster.remove_broker(2)
    await settle()
    state = await cluster.state("t", 0)
    in_sync = PartitionStateNode(state.leader, state.leader_epoch, (1, 2), state.controller_epoch)
    await cluster.registry.set(paths.partition_state("t", 0), encode_partition_state(in_sync))
    await settle()
    assert not moving(cluster)
    assert (await cluster.state("t", 0)).leader == -1
    await cluster.add_broker(2)
    await settle()
    assert (await cluster.state("t", 0)).leader == 2


# Features


async def test_features_are_on_and_nobody_has_one(cluster: Cluster, /) -> None:
    data, _ = await cluster.registry.get(paths.FEATURES)
    assert data == b'{"version":1,"status":1,"features":{}}'
    updates = [
        FeatureUpdateKey("", 1, False),
        FeatureUpdateKey("f", 0, False),
        FeatureUpdateKey("f", 0, True),
        FeatureUpdateKey("f", 1, False),
    ]
    pending = cluster.controller.update_features(UpdateFeaturesRequest(60_000, updates))
    await settle()
    assert [each.error_code for each in pending.value.results] == [E.INVALID_REQUEST] * 4
    assert len({each.error_message for each in pending.value.results}) == 4


@pytest.mark.played(by=play, overrides={"inter.broker.protocol.version": "2.6", "log.message.format.version": "2.6"})
async def test_an_old_protocol_switches_features_off_and_a_new_one_on(cluster: Cluster, /) -> None:
    data, _ = await cluster.registry.get(paths.FEATURES)
    assert data == b'{"version":1,"status":0,"features":{}}'
    known = b'{"version":1,"status":1,"features":{"f":{"min_version_level":1,"max_version_level":2}}}'
    await cluster.registry.set(paths.FEATURES, known)


@pytest.mark.parametrize(
    "ibp", ["0.8.2", "0.9.0", "0.10.0", "0.10.2", "0.11.0", "1.1", "2.2", "2.3", "2.4", "2.6", "2.7"]
)
def test_every_protocol_version_is_spoken(ibp: str, caplog: pytest.LogCaptureFixture) -> None:
    async def story(cluster: Cluster) -> None:
        await three_brokers(cluster)
        await cluster.remove_broker(2)
        await cluster.registry.create(paths.delete_topic("t"))
        await cluster.add_broker(2)
        await settle()
        assert "t" not in cluster.view.image.topics
        assert await cluster.registry.exists(paths.topic("t")) is None

    caplog.set_level(logging.ERROR)
    play(story, overrides={"inter.broker.protocol.version": ibp, "log.message.format.version": ibp})
    assert caplog.text == ""
