"""The coordinator of transactions on a manual clock, with its log in memory: what clients can make it keep."""

from barnabas.broker.cluster.image import ClusterView
from barnabas.broker.diagnostics.transactions import Aborts
from barnabas.broker.transactions.coordinator import TransactionCoordinator
from barnabas.broker.transactions.events import Answer
from barnabas.broker.transactions.transaction import TransactionState
from barnabas.core.config import BrokerConfig
from barnabas.core.error_code import ErrorCode
from barnabas.core.executor import InlineExecutor
from barnabas.core.internal_topics import TRANSACTION_STATE_TOPIC
from barnabas.core.pending import Spawner
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.protocol.messages.update_metadata import (
    UpdateMetadataPartitionState2,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from tests.unit.broker.groups.conftest import MemoryPartition, MemoryReplicas

MOST_BYTES = 1_000_000


class Numbers:
    """See `ProducerIds`."""

    def __init__(self) -> None:
        self.last = 0

    def take(self) -> int:
        self.last += 1
        return self.last

    async def fetch(self) -> int:
        return self.take()


class Ids:
    """Transactional ids with a bound."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.clock, self.replicas = ManualClock(), MemoryReplicas()
        view = ClusterView("cluster")
        state = UpdateMetadataTopicState(TRANSACTION_STATE_TOPIC, partition_states=[UpdateMetadataPartitionState2(0)])
        view.update_metadata(UpdateMetadataRequest(topic_states=[state]))
        self.replicas.partitions[TopicPartition(TRANSACTION_STATE_TOPIC, 0)] = MemoryPartition()
        errors: list[BaseException] = []
        self.aborts = Aborts(1 << 20)
        self.coordinator = TransactionCoordinator(
            BrokerConfig.single_broker({}),
            self.clock,
            self.clock,
            InlineExecutor(),
            self.replicas,
            1,
            view,
            None,
            Numbers(),
            Spawner(errors.append),
            most_bytes,
            self.aborts,
        )
        self.coordinator.start()
        self.coordinator.on_partition_leader(0, 0)

    def begin(self, transactional_id: str) -> Answer:
        pending = self.coordinator.initialize(transactional_id, 60_000)
        assert pending.is_done
        return pending.value

    def begin_patiently(self, transactional_id: str) -> Answer:
        """As clients do: ask again where the coordinator is busy."""
        for _ in range(3):
            answer = self.begin(transactional_id)
            if answer.error_code is not ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                break
        return answer

    def add(self, transactional_id: str, begun: Answer, *indexes: int) -> ErrorCode:
        partitions = frozenset(TopicPartition("t", index) for index in indexes)
        return self.coordinator.add_partitions(
            transactional_id, begun.producer_id, begun.producer_epoch, partitions
        ).value.error_code


def test_of_too_many_transactional_ids_those_that_nobody_uses_give_way() -> None:
    ids = Ids()
    working = ids.begin("working")
    assert ids.add("working", working, 0) is ErrorCode.NONE
    for number in range(60):
        answer = ids.begin_patiently(f"{number}" + "x" * 30_000)
        assert answer.error_code is ErrorCode.NONE
        assert ids.coordinator.kept_bytes <= MOST_BYTES + 4 * 31_000
    # What is in a transaction stays, and ends it.
    assert ids.add("working", working, 0, 1) is ErrorCode.NONE
    first = ids.coordinator.add_partitions("0" + "x" * 30_000, 2, 0, frozenset([TopicPartition("t", 0)]))
    assert first.value.error_code is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_where_all_are_in_transactions_new_ones_and_more_partitions_wait() -> None:
    ids = Ids()
    begun = {}
    for number in range(MOST_BYTES // 2_000 + 1):
        answer = ids.begin(f"{number}")
        if answer.error_code is not ErrorCode.NONE or ids.add(f"{number}", answer, 0) is not ErrorCode.NONE:
            break
        begun[f"{number}"] = answer
    assert len(begun) > 400
    # The last one, which got no partition, gives way at last, and one that is there takes very much.
    codes = [ids.add("0", begun["0"], *range(1_000)) for _ in range(4)]
    assert codes[-1] is ErrorCode.NONE
    assert ids.begin_patiently("new").error_code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert ids.add("1", begun["1"], 0, 1) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    # What it has it may name again.
    assert ids.add("1", begun["1"], 0) is ErrorCode.NONE


def test_what_ids_take_is_counted_until_they_are_gone() -> None:
    ids = Ids()
    begun = ids.begin("a")
    before_bytes = ids.coordinator.kept_bytes
    assert ids.add("a", begun, 0, 1, 2) is ErrorCode.NONE
    assert ids.coordinator.kept_bytes > before_bytes > 0
    ids.coordinator.on_partition_resigned(0)
    assert ids.coordinator.kept_bytes == 0


def test_ids_with_long_names_expire_in_several_batches() -> None:
    ids = Ids(10 * MOST_BYTES)
    for number in range(20):
        assert ids.begin(f"{number}" + "x" * 30_000).error_code is ErrorCode.NONE
    written = ids.replicas.partitions[TopicPartition(TRANSACTION_STATE_TOPIC, 0)].log.data
    written.clear()
    ids.clock.advance(8 * 24 * 3_600_000)
    assert ids.coordinator.kept_bytes == 0
    assert len(written) > 1
    assert max(map(len, written)) < 300_000


def test_what_takes_too_long_is_told_with_its_reason() -> None:
    ids = Ids()
    begun = ids.begin("tx")
    assert ids.add("tx", begun, 0) is ErrorCode.NONE
    assert [txn.transactional_id for txn in ids.coordinator.unended()] == ["tx"]
    ids.clock.advance(120_000)
    (row,) = ids.aborts.rows()
    assert (row["transactional_id"], row["reason"], row["partition_count"]) == ("tx", "timeout", 1)
    # The markers are not written yet.
    assert [txn.state for txn in ids.coordinator.unended(["tx", "other"])] == [TransactionState.PREPARE_ABORT]
