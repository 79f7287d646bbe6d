"""The replica manager over real logs: what the controller may change, what is kept over a restart."""

import asyncio
from operator import call

import pytest

from barnabas.broker.coordination.ownership import LoadedPartition, OwnedPartitions
from barnabas.broker.log import partition_log
from barnabas.broker.log.manager import LogManager
from barnabas.broker.replicas import local_follower_replica
from barnabas.broker.replicas.append_queues import untimed
from barnabas.broker.replicas.leader_replicas import LeaderReplicas
from barnabas.broker.replicas.local_follower_replica import LocalFollowerReplica
from barnabas.broker.replicas.manager import ReplicaManager
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.error_code import ErrorCode
from barnabas.core.executor import InlineExecutor
from barnabas.core.pending import Pending
from barnabas.core.purgatory import Purgatory
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_executor import ManualExecutor
from barnabas.wire.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState2,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from barnabas.wire.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from barnabas.wire.records.builder import BatchBuilder

BROKER_ID = 1
PARTITION = TopicPartition("t", 0)


class HoldingExecutor(ManualExecutor):
    """Does the work at once; while it is holding, when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.is_holding = False

    def run(self, work, then, failed):
        if self.is_holding:
            super().run(work, then, failed)
        else:
            InlineExecutor().run(work, then, failed)

    def release(self) -> None:
        self.is_holding = False
        self.run_all()


@pytest.fixture
def executor():
    return HoldingExecutor()


@pytest.fixture
def failures():
    """What the broker was told of its disk."""
    return []


@pytest.fixture
def directories():
    """The log directories below the test's own."""
    return (".",)


@pytest.fixture
def config(tmp_path, directories):
    log_dirs = ",".join(str(tmp_path / each) for each in directories)
    return BrokerConfig.from_properties({"log.dirs": log_dirs}, None, "test")


@pytest.fixture
def topic_config(config):
    return TopicConfig.from_broker(config)


@pytest.fixture
def load_logs(config, clock, disk, executor, failures, topic_config):
    def load() -> LogManager:
        made = LogManager(config, clock, clock, executor, lambda _: topic_config, failures.append, files=disk)

        async def start() -> None:
            await made.lock()
            await made.load("cluster", BROKER_ID)

        asyncio.run(start())
        return made

    return load


@pytest.fixture
def logs(load_logs):
    return load_logs()


@pytest.fixture
def heard():
    """What the listener for leadership was told."""
    return []


@pytest.fixture
def overrides():
    """The settings of all topics."""
    return {}


@pytest.fixture
def unregistered():
    """The ids of brokers that are not registered."""
    return set()


@pytest.fixture
def make_replicas(clock, topic_config, overrides, heard, unregistered):
    def make(logs: LogManager) -> ReplicaManager:
        fetches = Purgatory(clock, lambda callback, *args: callback(*args))

        def is_alive(broker_id: int) -> bool:
            return broker_id not in unregistered

        leader_replicas = LeaderReplicas(BROKER_ID, clock, clock, fetches, lambda: 30_000, is_alive)

        def config_of(topic: str) -> TopicConfig:
            return topic_config.with_overrides(overrides)

        made = ReplicaManager(BROKER_ID, logs, fetches, config_of, InlineExecutor(), call, leader_replicas)
        made.on_leadership = lambda led, resigned: heard.append(
            ([each.topic_partition for each in led], list(resigned))
        )
        return made

    return make


@pytest.fixture
def replicas(make_replicas, logs):
    return make_replicas(logs)


def leaders(*, partition=0, leader=BROKER_ID, epoch=0, controller_epoch=1, replicas=(BROKER_ID,), isr=None):
    state = LeaderAndIsrPartitionState2(
        partition_index=partition,
        controller_epoch=controller_epoch,
        leader=leader,
        leader_epoch=epoch,
        isr=list(replicas if isr is None else isr),
        replicas=list(replicas),
    )
    topic = LeaderAndIsrTopicState("t", partition_states=[state])
    return LeaderAndIsrRequest(controller_epoch=controller_epoch, topic_states=[topic])


def errors(pending):
    assert pending.is_done
    return pending.value.error_code, [each.error_code for each in pending.value.partition_errors]


def batch(count=1):
    builder = BatchBuilder()
    for _ in range(count):
        builder.append(1_600_000_000_000, b"key", b"value")
    return builder.build()


def test_a_partition_is_led_once_its_log_is_open(replicas, executor, heard):
    executor.is_holding = True
    pending = replicas.leader_and_isr(leaders())
    assert not pending.is_done
    assert replicas.partition(PARTITION) is None
    executor.release()
    assert errors(pending) == (0, [0])
    assert replicas.partition(PARTITION).is_leader
    assert heard == [([PARTITION], [])]
    assert replicas.partition_count == 1


def test_a_log_that_cant_be_made_costs_its_partition_and_is_told(replicas, tmp_path, failures, heard, caplog):
    (tmp_path / "t-0").write_text("no directory")
    assert errors(replicas.leader_and_isr(leaders())) == (0, [ErrorCode.KAFKA_STORAGE_ERROR])
    assert replicas.partition(PARTITION) is None
    assert not any(led for led, _ in heard)
    # What stands in its place is no fault of the disk: the directory goes on.
    assert failures == []
    assert f"cannot open {tmp_path / 't-0'}, its partition is offline" in caplog.text


@pytest.mark.parametrize("epoch", [4, 5])
def test_an_epoch_that_is_not_newer_is_stale(replicas, epoch):
    replicas.leader_and_isr(leaders(epoch=5))
    assert errors(replicas.leader_and_isr(leaders(epoch=epoch, leader=2, replicas=(1, 2)))) == (
        0,
        [ErrorCode.STALE_CONTROLLER_EPOCH],
    )
    assert replicas.partition(PARTITION).is_leader


def test_who_is_no_replica_says_so(replicas):
    assert errors(replicas.leader_and_isr(leaders(replicas=(2, 3), leader=2))) == (
        0,
        [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
    )
    assert replicas.partition(PARTITION) is None


def test_resigning_stops_appends(replicas, heard):
    replicas.leader_and_isr(leaders())
    replicas.leader_and_isr(leaders(epoch=1, leader=2, replicas=(1, 2)))
    result = replicas.append(PARTITION, batch(), -1, 1_000).value
    assert result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert heard[-1] == ([], [PARTITION])


@pytest.mark.parametrize(("adding", "removing"), [([2], []), ([], [2])])
def test_a_partition_is_reassigning_as_the_controller_says_while_this_broker_leads(replicas, adding, removing):
    def led(epoch, adding, removing, leader=BROKER_ID):
        request = leaders(epoch=epoch, replicas=(1, 2), leader=leader)
        (state,) = request.topic_states[0].partition_states
        state.adding_replicas, state.removing_replicas = adding, removing
        replicas.leader_and_isr(request)
        return replicas.partition(PARTITION).is_reassigning

    assert led(1, adding, removing)
    assert not led(2, [], [])
    assert led(3, adding, removing)
    assert not led(4, adding, removing, leader=2)


def test_a_new_epoch_begins_at_the_log_end(replicas):
    replicas.leader_and_isr(leaders())
    replicas.append(PARTITION, batch(3), -1, 1_000)
    replicas.leader_and_isr(leaders(epoch=2))
    partition = replicas.partition(PARTITION)
    assert partition.log.end_offset_for_epoch(1) == (0, 3)
    assert partition.log.end_offset_for_epoch(2) == (2, 3)


def test_own_appends_move_the_high_watermark(replicas):
    replicas.leader_and_isr(leaders())
    assert replicas.append(PARTITION, batch(3), -1, 1_000).value.error_code == 0
    assert replicas.high_watermarks() == {PARTITION: 3}
    unknown = replicas.append(TopicPartition("u", 0), batch(), -1, 1_000).value
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.fixture
def flush_each_message(overrides):
    overrides["flush.messages"] = "1"


@pytest.mark.usefixtures("flush_each_message")
@pytest.mark.parametrize("assigned", [(1,), (1, 2)])
def test_readers_wait_for_flush_messages_too(replicas, executor, assigned):
    replicas.leader_and_isr(leaders(replicas=assigned, isr=(1,)))
    executor.is_holding = True
    for count in (1, 2):
        replicas.append_to(replicas.partition(PARTITION), memoryview(batch(count)), 1)
    assert replicas.high_watermarks() == {PARTITION: 0}
    # The second one came while the first was on its way to the disk.
    executor.run_next()
    assert replicas.high_watermarks() == {PARTITION: 1}
    executor.release()
    assert replicas.high_watermarks() == {PARTITION: 3}


def test_readers_wait_for_a_flush_that_is_due_and_for_no_other(replicas, overrides, executor):
    overrides["flush.messages"] = "2"
    replicas.leader_and_isr(leaders())
    partition = replicas.partition(PARTITION)
    executor.is_holding = True
    replicas.append_to(partition, memoryview(batch()), 1)
    assert partition.high_watermark == 1
    replicas.append_to(partition, memoryview(batch()), 1)
    assert partition.high_watermark == 1
    executor.release()
    assert partition.high_watermark == 2


def test_what_a_new_flush_messages_wants_on_disk_is_brought_there(replicas, overrides):
    replicas.leader_and_isr(leaders())
    partition = replicas.partition(PARTITION)
    replicas.append_to(partition, memoryview(batch()), 1)
    assert partition.log.recovery_point == 0
    overrides["flush.messages"] = "1"
    replicas.update_topic_config("t")
    assert partition.log.recovery_point == 1


def test_new_settings_of_a_topic_look_at_its_partitions_alone(replicas, overrides):
    class Unlisted(dict):
        def values(self):
            raise AssertionError("a broker may have very many partitions")

    replicas.leader_and_isr(leaders())
    replicas._partitions = Unlisted(replicas._partitions)
    overrides["min.insync.replicas"] = "2"
    replicas.update_topic_config("other")
    partition = replicas.partition(PARTITION)
    assert partition.min_insync_replicas == 1
    replicas.update_topic_config("t")
    assert partition.min_insync_replicas == 2
    replicas.stop_replica(stop(-2))
    overrides["min.insync.replicas"] = "3"
    replicas.update_topic_config("t")
    assert partition.min_insync_replicas == 2


@pytest.mark.usefixtures("flush_each_message")
def test_own_appends_are_answered_once_flush_messages_is_kept(replicas, executor):
    replicas.leader_and_isr(leaders())
    executor.is_holding = True
    answer = replicas.append(PARTITION, batch(), -1, 1_000)
    assert not answer.is_done
    executor.release()
    assert answer.value.error_code == ErrorCode.NONE


@pytest.mark.usefixtures("flush_each_message")
def test_own_appends_whose_fsync_fails_say_so(replicas, executor, disk, failures):
    replicas.leader_and_isr(leaders())
    executor.is_holding = True
    answer = replicas.append(PARTITION, batch(), -1, 1_000)
    disk.fails_to_sync = True
    executor.release()
    assert answer.value.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert failures


@pytest.mark.usefixtures("flush_each_message")
def test_own_appends_that_are_not_on_disk_in_time_say_so(replicas, executor, clock):
    replicas.leader_and_isr(leaders())
    executor.is_holding = True
    answer = replicas.append(PARTITION, batch(), -1, 1_000)
    clock.advance(999)
    assert not answer.is_done
    clock.advance(1)
    assert answer.value.error_code == ErrorCode.REQUEST_TIMED_OUT
    executor.release()
    assert answer.value.error_code == ErrorCode.REQUEST_TIMED_OUT


def test_with_followers_in_sync_the_high_watermark_waits(replicas):
    replicas.leader_and_isr(leaders(replicas=(1, 2)))
    replicas.append(PARTITION, batch(3), 1, 1_000)
    assert replicas.high_watermarks() == {PARTITION: 0}
    # When the follower leaves the in-sync replicas, this broker alone decides.
    replicas.leader_and_isr(leaders(epoch=1, replicas=(1, 2), isr=(1,)))
    assert replicas.high_watermarks() == {PARTITION: 3}


class ProposedIsrs:
    """The ISR changes that a leader proposed, and nobody decides on."""

    def __init__(self) -> None:
        self.isrs = []

    def withdraw(self, key):
        pass

    def propose(self, key, leader, leader_epoch, isr, zk_version, controller_epoch, then):
        self.isrs.append(isr)


def test_a_follower_joins_the_isr_only_when_its_broker_is_registered(replicas, unregistered):
    changes = replicas.leader_replicas.changes = ProposedIsrs()
    replicas.leader_and_isr(leaders(replicas=(1, 2), isr=(1,)))
    partition = replicas.partition(PARTITION)
    unregistered.add(2)
    replicas.leader_replicas.note_fetch(partition, 2, 0, 0)
    assert changes.isrs == []
    unregistered.clear()
    replicas.leader_replicas.note_fetch(partition, 2, 0, 0)
    assert changes.isrs == [(1, 2)]


@pytest.mark.parametrize(("checkpointed", "taken_up"), [(2, 2), (5, 5), (50, 5)])
def test_the_high_watermark_of_the_last_run_is_taken_up(
    logs, load_logs, make_replicas, disk, tmp_path, checkpointed, taken_up
):
    before = make_replicas(logs)
    before.leader_and_isr(leaders())
    before.append(PARTITION, batch(5), -1, 1_000)
    asyncio.run(logs.close())
    (tmp_path / "replication-offset-checkpoint").write_text(f"0\n1\nt 0 {checkpointed}\n")
    disk.kill()
    replicas = make_replicas(load_logs())
    replicas.leader_and_isr(leaders(epoch=1, replicas=(1, 2)))
    assert replicas.high_watermarks() == {PARTITION: taken_up}


@pytest.mark.parametrize("others", [(), (2,)])
def test_what_waits_for_the_disk_is_not_acknowledged_once_the_partition_is_gone(
    replicas, topic_config, executor, others
):
    replicas.leader_and_isr(leaders(replicas=(1, *others)))
    partition = replicas.partition(PARTITION)
    partition.log.update_config(topic_config.with_overrides({"flush.messages": "1"}))
    executor.is_holding = True
    answer = replicas.append(PARTITION, batch(), -1, 1_000)
    replicas.stop_replica(stop(-2))
    executor.release()
    assert answer.value.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert not partition.is_leader


def test_what_waits_for_the_disk_is_not_acknowledged_by_this_broker_alone_as_it_stops(replicas, topic_config, executor):
    replicas.leader_and_isr(leaders(replicas=(1, 2)))
    replicas.partition(PARTITION).log.update_config(topic_config.with_overrides({"flush.messages": "1"}))
    executor.is_holding = True
    answer = replicas.append(PARTITION, batch(), -1, 1_000)
    replicas.stop_appends()
    executor.release()
    assert answer.value.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_full_disk_is_told_to_who_appends_and_to_the_broker(replicas, disk, failures):
    replicas.leader_and_isr(leaders())
    disk.free_bytes = 5
    assert replicas.append(PARTITION, batch(), -1, 1_000).value.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    result = replicas.append_to(replicas.partition(PARTITION), memoryview(batch()), 1)
    assert result.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert len(failures) == 2
    assert replicas.high_watermarks() == {PARTITION: 0}


def stop(epoch, *, is_deleted=True):
    state = StopReplicaPartitionState(0, leader_epoch=epoch, delete_partition=is_deleted)
    return StopReplicaRequest(controller_epoch=1, topic_states=[StopReplicaTopicState("t", [state])])


@pytest.mark.parametrize("epoch", [-2, -1, 6])
def test_a_partition_is_stopped_and_deleted(replicas, logs, tmp_path, heard, epoch):
    replicas.leader_and_isr(leaders(epoch=5))
    assert errors(replicas.stop_replica(stop(epoch))) == (0, [0])
    assert replicas.partition(PARTITION) is None
    assert logs.get(PARTITION) is None
    (renamed,) = tmp_path.glob("t-0*")
    assert renamed.name.endswith("-delete")
    assert heard[-1] == ([], [PARTITION])


@pytest.mark.parametrize("epoch", [0, 5])
def test_an_epoch_that_is_not_newer_stops_nothing(replicas, logs, epoch):
    replicas.leader_and_isr(leaders(epoch=5))
    assert errors(replicas.stop_replica(stop(epoch))) == (0, [ErrorCode.FENCED_LEADER_EPOCH])
    assert replicas.partition(PARTITION).is_leader
    assert logs.get(PARTITION) is not None


def test_a_partition_that_is_only_stopped_stays_what_it_was(replicas, logs):
    replicas.leader_and_isr(leaders())
    replicas.stop_replica(stop(-1, is_deleted=False))
    assert replicas.partition(PARTITION).is_leader
    assert logs.get(PARTITION) is not None


# --- a directory that fails


@pytest.mark.parametrize("is_new", [False, True])
def test_what_was_in_a_failed_directory_is_neither_led_nor_made_again(replicas, logs, is_new):
    replicas.leader_and_isr(leaders(epoch=5))
    logs.on_offline([PARTITION])
    logs.delete(PARTITION)
    for epoch in (5, 6):
        request = leaders(epoch=epoch)
        request.topic_states[0].partition_states[0].is_new = is_new
        assert errors(replicas.leader_and_isr(request)) == (0, [ErrorCode.KAFKA_STORAGE_ERROR])
    assert replicas.partition(PARTITION) is None
    assert logs.get(PARTITION) is None


@pytest.mark.parametrize("is_deleted", [False, True])
def test_what_was_in_a_failed_directory_can_not_be_stopped(replicas, logs, is_deleted):
    replicas.leader_and_isr(leaders(epoch=5))
    logs.on_offline([PARTITION])
    for epoch in (-2, 6):
        answered = errors(replicas.stop_replica(stop(epoch, is_deleted=is_deleted)))
        assert answered == (0, [ErrorCode.KAFKA_STORAGE_ERROR])


@pytest.mark.parametrize("directories", [("a", "b")])
@pytest.mark.parametrize("is_open", [True, False])
def test_a_log_that_can_not_be_deleted_is_told_and_not_replaced(replicas, executor, disk, tmp_path, is_open):
    executor.is_holding = not is_open
    replicas.leader_and_isr(leaders())
    disk.fails_to_rename = tmp_path / "a" / "t-0"
    executor.is_holding = True
    stopped = replicas.stop_replica(stop(-2))
    # The topic is created again while its first log is being deleted, and later.
    request = leaders()
    request.topic_states[0].partition_states[0].is_new = True
    created = replicas.leader_and_isr(request)
    executor.release()
    refused = (0, [ErrorCode.KAFKA_STORAGE_ERROR])
    assert (errors(stopped), errors(created)) == (refused, refused)
    assert errors(replicas.leader_and_isr(request)) == refused
    assert errors(replicas.stop_replica(stop(-2))) == refused
    assert list(tmp_path.glob("*/t-0*")) == [tmp_path / "a" / "t-0"]


def test_whoever_has_to_know_is_told_of_a_failed_directory(replicas, logs):
    told = []
    replicas.on_failed_directory = lambda: told.append(replicas.offline_count)
    replicas.leader_and_isr(leaders())
    logs.on_offline([PARTITION])
    logs.on_offline([])
    assert told == [1, 1]


# --- what comes while a log is being opened


def test_a_stop_that_comes_while_the_log_is_opened_wins(replicas, logs, executor, tmp_path, heard):
    executor.is_holding = True
    pending = replicas.leader_and_isr(leaders())
    stopped = replicas.stop_replica(stop(-2))
    # A start after a kill would find the log that is on its way.
    assert not stopped.is_done
    executor.release()
    assert errors(stopped) == (0, [0])
    assert errors(pending) == (0, [0]), "as if it had been done before the stop"
    assert replicas.partition(PARTITION) is None
    assert replicas.absence_of(PARTITION) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert logs.get(PARTITION) is None
    assert not (tmp_path / "t-0").exists()
    assert heard == [([], [PARTITION])]


def many_leaders(count, **state):
    request = leaders()
    (topic,) = request.topic_states
    topic.partition_states = [
        leaders(partition=each, **state).topic_states[0].partition_states[0] for each in range(count)
    ]
    return request


def test_the_logs_of_very_many_partitions_are_opened_some_at_a_time(replicas, executor):
    executor.is_holding = True
    pending = replicas.leader_and_isr(many_leaders(110))
    assert executor.waiting_count == 100
    executor.run_next()
    # Beside the 100 waits that the first one's leader epoch is written.
    assert executor.waiting_count == 101, "when one is open the next one begins"
    executor.release()
    assert errors(pending) == (0, [0] * 110)
    assert replicas.partition_count == 110


def test_the_logs_of_very_many_partitions_are_deleted_some_at_a_time(replicas, executor):
    replicas.leader_and_isr(many_leaders(110))
    request = stop(-2)
    request.topic_states[0].partition_states = [StopReplicaPartitionState(index, -2, True) for index in range(110)]
    executor.is_holding = True
    pending = replicas.stop_replica(request)
    assert (executor.waiting_count, replicas.partition_count) == (100, 10)
    while replicas.partition_count == 10:
        executor.run_next()
    assert replicas.partition_count == 9, "when one is gone the next one begins"
    executor.release()
    assert errors(pending) == (0, [0] * 110)
    assert replicas.partition_count == 0


def test_a_stop_wins_over_logs_that_were_not_begun_to_be_opened(replicas, logs, executor, tmp_path):
    executor.is_holding = True
    pending = replicas.leader_and_isr(many_leaders(101))
    last = stop(-2)
    last.topic_states[0].partition_states[0].partition_index = 100
    assert errors(replicas.stop_replica(last)) == (0, [0])
    executor.release()
    assert errors(pending) == (0, [0] * 101)
    assert replicas.partition_count == 100
    assert not (tmp_path / "t-100").exists()


def test_a_topic_that_comes_again_gets_a_log_of_its_own(replicas, logs, executor, tmp_path, heard):
    executor.is_holding = True
    first = replicas.leader_and_isr(leaders(epoch=3))
    replicas.stop_replica(stop(-2))
    second = replicas.leader_and_isr(leaders(epoch=0))
    executor.run_next()
    assert errors(first) == (0, [0])
    assert not second.is_done, "the first log is gone, the second is still to be made"
    executor.release()
    assert errors(second) == (0, [0])
    partition = replicas.partition(PARTITION)
    assert (partition.is_leader, partition.leader_epoch) == (True, 0)
    assert partition.log is logs.get(PARTITION)
    assert not partition.log.is_closed
    assert replicas.append(PARTITION, batch(2), -1, 1_000).value.error_code == ErrorCode.NONE
    assert sorted(path.name.split(".")[0] for path in tmp_path.glob("t-0*")) == ["t-0", "t-0"]
    assert heard == [([], [PARTITION]), ([PARTITION], [])]


def test_deleted_twice_while_it_is_opened(replicas, logs, executor, tmp_path):
    executor.is_holding = True
    pendings = [replicas.leader_and_isr(leaders(epoch=3))]
    replicas.stop_replica(stop(-2))
    pendings.append(replicas.leader_and_isr(leaders(epoch=0)))
    replicas.stop_replica(stop(-2))
    executor.release()
    assert [errors(each) for each in pendings] == [(0, [0])] * 2
    assert (replicas.partition(PARTITION), logs.get(PARTITION)) == (None, None)
    assert not (tmp_path / "t-0").exists()


def test_of_two_that_wait_for_a_log_the_newer_counts(replicas, executor):
    executor.is_holding = True
    newer = replicas.leader_and_isr(leaders(epoch=5))
    older = replicas.leader_and_isr(leaders(epoch=4, leader=2, replicas=(1, 2)))
    assert errors(older) == (0, [ErrorCode.STALE_CONTROLLER_EPOCH])
    newest = replicas.leader_and_isr(leaders(epoch=6, leader=2, replicas=(1, 2)))
    executor.release()
    assert (errors(newer), errors(newest)) == ((0, [0]), (0, [0]))
    partition = replicas.partition(PARTITION)
    assert (partition.leader, partition.leader_epoch) == (2, 6)


def test_a_stop_of_an_older_epoch_does_not_stop_what_waits(replicas, executor):
    executor.is_holding = True
    replicas.leader_and_isr(leaders(epoch=5))
    assert errors(replicas.stop_replica(stop(5))) == (0, [ErrorCode.FENCED_LEADER_EPOCH])
    executor.release()
    assert replicas.partition(PARTITION).is_leader


def test_leadership_that_is_over_is_not_told_later(replicas, executor, heard):
    """Partition 0 is led at once, and stopped before the log of partition 1 is open."""
    replicas.leader_and_isr(leaders())
    executor.is_holding = True
    pending = replicas.leader_and_isr(many_leaders(2, epoch=1))
    assert replicas.partition(PARTITION).leader_epoch == 1
    replicas.stop_replica(stop(-1))
    executor.release()
    assert errors(pending) == (0, [0, 0])
    assert heard[1:] == [([], [PARTITION]), ([TopicPartition("t", 1)], [])]


def test_a_listener_is_told_of_a_loss_before_the_leadership_is_won_back(replicas, executor, heard):
    """Partition 0 is lost and won back before the log of partition 1, which is in the first request too, is open."""
    replicas.leader_and_isr(leaders())
    executor.is_holding = True
    lost = replicas.leader_and_isr(many_leaders(2, epoch=1, leader=2, replicas=(1, 2)))
    won = replicas.leader_and_isr(leaders(epoch=2, replicas=(1, 2)))
    executor.release()
    assert (errors(lost), errors(won)) == ((0, [0, 0]), (0, [0]))
    assert heard == [([PARTITION], []), ([], [PARTITION]), ([PARTITION], [])]


async def test_settings_that_topics_inherit_are_taken_over_by_all_partitions_some_in_a_turn(replicas, monkeypatch):
    monkeypatch.setattr("barnabas.broker.replicas.manager._UPDATES_PER_TURN", 2)
    for partition in range(5):
        replicas.leader_and_isr(leaders(partition=partition))

    def taken_over() -> list[int]:
        return [each.min_insync_replicas for each in replicas.partitions if each.log.config.retention_ms == 7]

    changed = TopicConfig.from_broker(BrokerConfig.from_properties({"log.retention.ms": "7"}))
    changed.min_insync_replicas = 2
    replicas._topic_config = lambda topic: changed
    update = asyncio.ensure_future(replicas.update_all_configs())
    await asyncio.sleep(0)
    assert taken_over() == [2, 2]
    await update
    assert taken_over() == [2] * 5


def test_settings_that_changed_while_a_log_was_opened_are_taken_over(replicas, executor) -> None:
    executor.is_holding = True
    replicas.leader_and_isr(leaders())
    changed = TopicConfig.from_broker(BrokerConfig.from_properties({"log.retention.ms": "7"}))
    replicas._topic_config = lambda topic: changed
    executor.release()
    assert replicas.partition(PARTITION).log.config.retention_ms == 7


def test_an_unexpected_error_of_a_listener_fails_the_request_that_it_hears_of(replicas) -> None:
    failure = ZeroDivisionError()

    def fail(*_: object) -> None:
        raise failure

    replicas.on_leadership = fail
    assert replicas.leader_and_isr(leaders()).error is failure


def test_an_append_that_can_not_be_prepared_does_not_stop_the_next_one(replicas, executor, monkeypatch) -> None:
    replicas.leader_and_isr(leaders())
    partition = replicas.partition(PARTITION)
    # Larger ones are prepared in the executor.
    monkeypatch.setattr(partition_log, "LARGE_BYTES", 10)

    def fail(_: object) -> None:
        raise ZeroDivisionError

    codes = []
    for timed in (fail, untimed):
        result = replicas.append_to(partition, memoryview(bytearray(batch())), 1, timed=timed)
        executor.run_all()
        codes.append((result.value if isinstance(result, Pending) else result).error_code)
    assert codes == [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.NONE]


def test_records_of_an_old_leader_that_are_checked_when_this_broker_becomes_leader_are_dropped(
    replicas, executor, failures, heard, monkeypatch
) -> None:
    replicas.leader_and_isr(leaders(leader=2, replicas=(1, 2)))
    partition = replicas.partition(PARTITION)
    followed = LocalFollowerReplica(partition, executor, heard.append, failures.append)
    # Larger ones are checked in the executor.
    monkeypatch.setattr(local_follower_replica, "LARGE_BYTES", 10)
    executor.is_holding = True
    appended = followed.append(memoryview(bytearray(batch())), 0, 0)
    replicas.leader_and_isr(leaders(epoch=1, replicas=(1, 2)))
    executor.release()
    assert appended.value is None
    assert (partition.is_leader, partition.log.log_end_offset) == (True, 0)


def test_a_partition_whose_entries_can_not_be_taken_over_is_loaded_again(replicas, executor, clock) -> None:
    replicas.leader_and_isr(leaders())
    replicas.append(PARTITION, bytearray(batch()), 1, 1_000)
    tries: list[int] = []

    def take_over(entry: str, partition: int) -> None:
        tries.append(partition)
        if len(tries) == 1:
            raise ZeroDivisionError

    owned = OwnedPartitions("t", replicas, executor, clock, lambda *_: LoadedPartition(["entry"], 1), take_over)
    owned.begin(0)
    executor.run_all()
    assert (owned.owns(0), owned.loads(0)) == (False, True)
    clock.advance(10_000)
    executor.run_all()
    assert (owned.owns(0), owned.loads(0)) == (True, False)
