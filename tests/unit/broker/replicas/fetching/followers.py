"""A follower's logs in memory, and a leader whose answers a test writes."""

from collections.abc import Callable
from typing import Any

from barnabas.broker.quotas.bucket import Windows
from barnabas.broker.quotas.replication import ReplicationQuota
from barnabas.broker.replicas.fetching.manager import Fetchers
from barnabas.core.config import BrokerConfig
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.pending import Pending
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from barnabas.wire.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from barnabas.wire.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from barnabas.wire.protocol.wire import Message, WireBuffer
from barnabas.wire.records.batch import batches, is_crc_valid, read_header
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.errors import CorruptRecordsError

OWN_ID = 1
LEADER = 2


def batch(base_offset: int, count: int = 1, epoch: int = 0, value: bytes = b"value") -> bytes:
    builder = BatchBuilder()
    for number in range(count):
        builder.append(1_600_000_000_000 + number, b"key", value)
    return bytes(builder.build(base_offset, epoch))


class MemoryFollower:
    """A followed partition whose log is a list; see `FollowerReplica`.

    Attributes:
        batches: Base offset, last offset, epoch and bytes of each.
        done: What was done to it, in order.
        is_holding: What is done waits in `held` until the test ends it.
        failure: Appends and truncations fail with it.
    """

    def __init__(self, key: TopicPartition, leader: int = LEADER, leader_epoch: int = 1) -> None:
        self.topic_partition = key
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.log_start_offset = self.log_end_offset = self.high_watermark = 0
        self.batches: list[tuple[int, int, int, bytes]] = []
        self.epochs: list[tuple[int, int]] = []
        self.done: list[tuple[Any, ...]] = []
        self.is_holding = False
        self.held: list[Callable[[], object]] = []
        self.failure: BaseException | None = None

    @property
    def latest_epoch(self) -> int:
        return self.epochs[-1][0] if self.epochs else -1

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        if not self.epochs or epoch > self.latest_epoch:
            return -1, -1
        below = [index for index, (each, _) in enumerate(self.epochs) if each <= epoch]
        if not below:
            return epoch, self.epochs[0][1]
        last = below[-1]
        return self.epochs[last][0], self.epochs[last + 1][1] if last + 1 < len(self.epochs) else self.log_end_offset

    def is_following(self, leader: int, leader_epoch: int) -> bool:
        return (leader, leader_epoch) == (self.leader, self.leader_epoch)

    def append(
        self, data: memoryview, leader_high_watermark: int, leader_log_start_offset: int
    ) -> Pending[None] | None:
        if self.failure is not None:
            raise self.failure
        pending = self._do(lambda: self._append(data, leader_high_watermark, leader_log_start_offset))
        if pending.is_done and pending.error is not None:
            raise pending.error
        return None if pending.is_done else pending

    def _append(self, data: memoryview, high_watermark: int, log_start_offset: int) -> None:
        found = []
        for each in batches(data):
            if not is_crc_valid(each, 0, len(each)):
                raise CorruptRecordsError("a wrong CRC")
            header = read_header(each)
            found.append((header.base_offset, header.last_offset, header.leader_epoch, bytes(each)))
        end = self.log_end_offset
        for base, last, _, _ in found:
            if base < end:
                raise BarnabasError(f"offset {base} after {end}")
            end = last + 1
        for batch_found in found:
            self.put(*batch_found)
        self.high_watermark = min(high_watermark, self.log_end_offset)
        self.log_start_offset = max(self.log_start_offset, log_start_offset)
        self.done.append(("append", len(found), high_watermark, log_start_offset))

    def put(self, base: int, last: int, epoch: int, data: bytes = b"") -> None:
        if epoch > self.latest_epoch:
            self.epochs.append((epoch, base))
        self.batches.append((base, last, epoch, data))
        self.log_end_offset = last + 1

    def truncate(self, offset: int) -> Pending[None]:
        return self._do(lambda: self._truncate(offset))

    def _truncate(self, offset: int) -> None:
        self.done.append(("truncate", offset))
        # Whole batches.
        self.log_end_offset = min(
            [self.log_end_offset, offset, *(each[0] for each in self.batches if each[1] >= offset)]
        )
        self.batches = [each for each in self.batches if each[1] < offset]
        self.high_watermark = min(self.high_watermark, self.log_end_offset)
        self.epochs = [each for each in self.epochs if each[1] < self.log_end_offset]

    def truncate_fully_and_start_at(self, offset: int) -> Pending[None]:
        def start() -> None:
            self.done.append(("truncate fully", offset))
            self.batches, self.epochs = [], []
            self.log_start_offset = self.log_end_offset = self.high_watermark = offset

        return self._do(start)

    def _do(self, work: Callable[[], object]) -> Pending[None]:
        pending: Pending[None] = Pending()

        def end() -> None:
            try:
                if self.failure is not None:
                    raise self.failure
                work()
            except Exception as error:
                pending.fail(error)
            else:
                pending.complete(None)

        if self.is_holding:
            self.held.append(end)
        else:
            end()
        return pending

    def release(self) -> None:
        held, self.held = self.held, []
        for each in held:
            each()


class Sent:
    """A request on its way."""

    def __init__(self, broker_id: int, request: Any, version: int, lane: str, limits: tuple[int | None, int]) -> None:
        self.broker_id = broker_id
        self.request = request
        self.version = version
        self.lane = lane
        self.timeout_ms, self.max_answer_bytes = limits
        self.pending: Pending[Any] = Pending()


class ScriptedChannels:
    """See `BrokerChannels`: what is sent waits for the test's answer."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.dropped: list[tuple[int, str]] = []
        self.address: tuple[str, int] | None = ("leader", 9_092)
        self.is_refusing = False

    def address_of(self, broker_id: int) -> tuple[str, int] | None:
        return self.address

    def send(
        self,
        broker_id: int,
        request: Message,
        version: int,
        answer: type[Any],
        lane: str = "",
        timeout_ms: int | None = None,
        max_answer_bytes: int = 0,
    ) -> Pending[Any]:
        # As it arrives.
        frame = WireBuffer()
        request.encode(version, frame)
        arrived = type(request).decode(version, memoryview(frame))[0]
        sent = Sent(broker_id, arrived, version, lane, (timeout_ms, max_answer_bytes))
        if self.is_refusing:
            sent.pending.fail(KafkaError(ErrorCode.NETWORK_EXCEPTION, "can't be reached"))
        else:
            self.sent.append(sent)
        return sent.pending

    def drop(self, broker_id: int, lane: str = "") -> None:
        self.dropped.append((broker_id, lane))
        for sent in [each for each in self.sent if (each.broker_id, each.lane) == (broker_id, lane)]:
            self.sent.remove(sent)
            sent.pending.fail(KafkaError(ErrorCode.NETWORK_EXCEPTION, "nobody needs it any more"))


class Follower:
    """A broker's fetchers over scripted channels."""

    def __init__(
        self, clock: ManualClock | None = None, broker_id: int = OWN_ID, settings: dict[str, str] | None = None
    ) -> None:
        properties = {name.replace("_", "."): value for name, value in (settings or {}).items()}
        self.config = BrokerConfig.from_properties(properties, None, "test")
        self.clock = clock or ManualClock()
        self.channels = ScriptedChannels()
        self.quota = ReplicationQuota(Windows(11, 1_000))
        # Structurally the same, as far as fetchers need it.
        self.fetchers = Fetchers(
            broker_id,
            self.config,
            self.channels,  # type: ignore[arg-type]
            self.quota,
            self.clock,
            self.clock,
        )

    def follow(self, *followed: MemoryFollower) -> None:
        self.fetchers.follow([(each, each.leader, each.leader_epoch) for each in followed])

    @property
    def only(self) -> Sent:
        """The one request that is on its way."""
        assert len(self.channels.sent) == 1
        return self.channels.sent[0]

    @property
    def asked(self) -> Any:
        """What the one request that is on its way asks."""
        return self.only.request

    @property
    def is_idle(self) -> bool:
        return not self.channels.sent

    def answer(self, response: Message) -> None:
        sent = self.only
        self.channels.sent.remove(sent)
        # As it arrives.
        frame = WireBuffer()
        response.encode(sent.version, frame)
        sent.pending.complete(type(response).decode(sent.version, memoryview(frame))[0])

    def lose(self, why: str = "the connection is gone") -> None:
        sent = self.only
        self.channels.sent.remove(sent)
        sent.pending.fail(KafkaError(ErrorCode.NETWORK_EXCEPTION, why))

    def answer_fetch(
        self, *parts: tuple[TopicPartition, PartitionData], session_id: int = 77, error_code: int = 0
    ) -> None:
        topics = [FetchableTopicResponse(key.topic, [data]) for key, data in parts]
        has_sessions = self.only.version >= 7
        self.answer(FetchResponse(0, error_code, session_id if has_sessions else 0, topics))

    def answer_epochs(self, *parts: tuple[TopicPartition, int, int, int]) -> None:
        """Each: key, error code, epoch, end offset."""
        topics = [
            OffsetForLeaderTopicResult(key.topic, [EpochEndOffset(error, key.partition, epoch, end)])
            for key, error, epoch, end in parts
        ]
        self.answer(OffsetForLeaderEpochResponse(0, topics))

    def answer_offsets(self, *parts: tuple[TopicPartition, int, int]) -> None:
        """Each: key, error code, offset."""
        topics = [
            ListOffsetsTopicResponse(key.topic, [ListOffsetsPartitionResponse(key.partition, error, None, -1, offset)])
            for key, error, offset in parts
        ]
        self.answer(ListOffsetsResponse(0, topics))

    def fetched(self) -> dict[tuple[str, int], tuple[int, int, int]]:
        """Offset, epoch and log start of each partition that the fetch on its way names."""
        assert isinstance(self.asked, FetchRequest)
        return {
            (topic.topic, each.partition): (each.fetch_offset, each.current_leader_epoch, each.log_start_offset)
            for topic in self.asked.topics
            for each in topic.partitions
        }

    def forgotten(self) -> list[tuple[str, int]]:
        return [(topic.topic, each) for topic in self.asked.forgotten_topics_data for each in topic.partitions]


def records(
    key: TopicPartition, data: bytes = b"", high_watermark: int = 0, log_start_offset: int = 0, error_code: int = 0
) -> tuple[TopicPartition, PartitionData]:
    """What an answer says of a partition."""
    part = PartitionData(
        key.partition, error_code, high_watermark, high_watermark, log_start_offset, records=memoryview(data)
    )
    return key, part
