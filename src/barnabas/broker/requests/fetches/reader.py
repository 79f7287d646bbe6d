"""One pass over the partitions of a fetch: reads the records of each, or finds its error.

Records are sent as slices of the log's files, without a copy. A few small slices are copied: an answer in one part is
one system call, and wakes its reader once. A partition's answer never extends beyond one segment.

Partitions that the cluster does not know, or the reader may not see, are refused at once and are last in the answer;
the other partitions are read as if these had not been requested. (Any other error ends a wait.)

Source: semantics, Fetch; Kafka 2.7.2's `ReplicaManager.readFromLocalLog`; KIP-74 (sizes), KIP-320 (epochs).
"""

import logging
from collections.abc import Iterable, Iterator
from typing import Any

from barnabas.broker.log.disk.cold_reads import ColdSlice, ColdWork, NotCachedError
from barnabas.broker.log.disk.files import FileSlice
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.replicas.isr import ReplicaSet
from barnabas.broker.replicas.partition import Partition
from barnabas.broker.replicas.preferred_read_replica import NO_REPLICA, preferred_read_replica
from barnabas.broker.replicas.topic_counts import TopicCounts
from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.down_conversion import FIRST_VERSION_WITH_ZSTD, adapt_answer
from barnabas.broker.requests.fanout import find, resolve
from barnabas.broker.requests.fetches.sessions import NO_SESSION, FetchSession, Wanted, next_epoch
from barnabas.broker.requests.fetches.sizes import answer_bytes
from barnabas.broker.requests.slices import MORE, Step
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import StorageError
from barnabas.core.pending import Pending
from barnabas.core.types import NO_EPOCH, TopicPartition
from barnabas.wire.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from barnabas.wire.quotas.limits import QuotaKind
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType

logger = logging.getLogger(__name__)

_FIRST_VERSION_WITH_STORAGE_ERROR = 6
# Earlier versions get a truncated batch if it is larger than the requested size, and must request more.
_FIRST_VERSION_WITH_WHOLE_BATCH = 3
_FIRST_VERSION_OF_FOLLOWERS = 11
_READ_COMMITTED = 1
# Saves the lookup of the members in their enums.
_READ, _CLUSTER_ACTION, _CLUSTER = Operation.READ, Operation.CLUSTER_ACTION, ResourceType.CLUSTER
_FETCH_QUOTA = QuotaKind.FETCH
_NO_LIMIT = 2**31 - 1
# The client settings that limit an answer.
_OF_PARTITION, _OF_ANSWER = "max.partition.fetch.bytes", "fetch.max.bytes"
# Errors that are known before anything is read.
_REFUSALS = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

# A partition that was read: key, log, fetch offset, end offset, and the slice found.
Span = tuple[TopicPartition, PartitionLog, int, int, FileSlice | None]

# Shared by all answers: building two objects for each partition of each answer costs more than the rest of it.
_NO_DIVERGENCE = EpochEndOffset()
_NO_LEADER = LeaderIdAndEpoch()
_NO_RECORDS = b""
# The most bytes of an answer that are copied into it: a slice of a file costs two more system calls.
_COPIED_BYTES = 16 * 1024


class FetchReader:
    """One pass over the partitions of a request.

    Attributes:
        cold: The parts to read from disk first.
        spans: The partitions that could be read.
        is_complete: The answer need not wait: it has enough data, or an error.
        refused: The partitions that were refused before reading.
    """

    __slots__ = (
        "_answered",
        "_available_bytes",
        "_cached",
        "_copied_bytes",
        "_ctx",
        "_failures",
        "_found",
        "_full",
        "_has_found",
        "_is_again",
        "_is_committed",
        "_is_follower",
        "_is_told",
        "_leader_quota",
        "_left_bytes",
        "_may_exceed",
        "_may_follow",
        "_min_bytes",
        "_rack",
        "_request",
        "_session",
        "_throttled_bytes",
        "_topics",
        "_wanted",
        "cold",
        "is_complete",
        "refused",
        "spans",
    )

    def __init__(
        self,
        ctx: RequestContext,
        request: FetchRequest,
        wanted: Wanted,
        session: FetchSession | None,
        refused: dict[TopicPartition, PartitionData] | None = None,
        failures: dict[TopicPartition, StorageError] | None = None,
        *,
        may_wait_for_disk: bool = False,
    ) -> None:
        """Args:
        session: The reader's session; without an id in its first fetch.
        refused: The partitions refused by the first pass; None in the first pass.
        failures: Errors of partitions whose reads in an executor failed.
        may_wait_for_disk: Read bytes outside the page cache on the event loop.
        """
        self._ctx = ctx
        self._request = request
        self._wanted = wanted
        self._session = session
        self._answered: list[tuple[TopicPartition, PartitionData]] = []
        self._is_again = refused is not None
        self.refused: dict[TopicPartition, PartitionData] = {} if refused is None else refused
        self._failures = failures
        self._cached = None if may_wait_for_disk else ctx.services.cold_reads
        self.cold: dict[TopicPartition, ColdWork[Any] | ColdSlice] = {}
        self._is_follower = request.replica_id >= 0
        quota = ctx.services.leader_quota
        # None if nothing is throttled, which saves a check for each partition.
        self._leader_quota = quota if self._is_follower and quota.is_any else None
        self._throttled_bytes = 0
        self._may_follow = self._is_follower and ctx.may(_CLUSTER_ACTION, _CLUSTER, CLUSTER)
        # Written out, because a call of `min` costs more.
        most_bytes, min_bytes = ctx.services.config.fetch_max_bytes, request.min_bytes
        if ctx.services.quotas.is_enabled[_FETCH_QUOTA] and self._has_quota():
            most_bytes = min(most_bytes, _most_in_windows(ctx))
        self._left_bytes = left_bytes = request.max_bytes if request.max_bytes < most_bytes else most_bytes
        self._min_bytes = min_bytes if min_bytes < left_bytes else left_bytes
        # Whether the answer may omit partitions, because a follower knows their state from its session.
        self._is_told = self._may_follow and session is not None and session.id != NO_SESSION and self._min_bytes > 0
        self._available_bytes = 0
        self._has_found = False
        # Conversion for old clients needs slices.
        self._copied_bytes = _COPIED_BYTES if ctx.api_version >= FIRST_VERSION_WITH_ZSTD else 0
        # The setting that limited a partition's records in the answer, and the bytes that it allows.
        self._full: tuple[str, int] | None = None
        # Bytes of records in the answer, with the counts of their topic.
        self._found: list[tuple[TopicCounts, int]] = []
        self._may_exceed = ctx.api_version >= _FIRST_VERSION_WITH_WHOLE_BATCH
        self._is_committed = request.isolation_level == _READ_COMMITTED
        # The reader's rack, if the answer may name a preferred read replica.
        self._rack = request.rack_id
        if self._rack and (self._is_follower or not ctx.services.config.replica_selector_class):
            self._rack = ""
        self.is_complete = False
        self.spans: list[Span] = []
        self._topics: list[FetchableTopicResponse] = []

    def read(self) -> None:
        """Read all partitions in order, within the byte limits."""
        # hot path: benchmarks/load (every fetch request, twice when it waits)
        is_told = self._is_told
        for key, wanted in self._wanted.items():
            if not (is_told and self._is_quiet(key, wanted)):
                self._take(key, wanted)
        # A fetch without readable partitions does not wait.
        if len(self.refused) == len(self._wanted):
            self.is_complete = True

    def steps(self) -> Iterator[Step]:
        """Do the same as `read`, one partition in each step."""
        is_told = self._is_told
        for key, wanted in self._wanted.items():
            if not (is_told and self._is_quiet(key, wanted)):
                self._take(key, wanted)
            yield MORE
        if len(self.refused) == len(self._wanted):
            self.is_complete = True

    def _is_quiet(self, key: TopicPartition, wanted: FetchPartition) -> bool:
        """Return whether a follower has all records and current offsets of a partition, so the answer omits it; records
        its progress.
        """
        # hot path: benchmarks/cluster, many (nearly every partition of a follower's fetch)
        partition = self._ctx.services.replicas.partition(key)
        if partition is None or not partition.is_leader or wanted.current_leader_epoch != partition.leader_epoch:
            return False
        log, offset = partition.log, wanted.fetch_offset
        if offset != log.log_end_offset or wanted.last_fetched_epoch >= 0:
            return False
        assert self._session is not None, "only who has a session was told anything"
        if self._session.told.get(key) != (partition.high_watermark, log.log_start_offset):
            return False
        if not self._is_again:
            high_watermark = partition.high_watermark
            self._ctx.services.replicas.leader_replicas.note_fetch(
                partition, self._request.replica_id, offset, wanted.log_start_offset
            )
            if partition.high_watermark != high_watermark:
                return False
            partition.counts.fetch_requests += 1
        return True

    def _take(self, key: TopicPartition, wanted: FetchPartition) -> None:
        """Add one partition to the answer."""
        if self._is_again and key in self.refused:
            return
        if not self._is_follower:
            partition = resolve(self._ctx, _READ, key.topic, key.partition)
        elif self._may_follow:
            partition = find(self._ctx, key.topic, key.partition)
        else:
            partition = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if isinstance(partition, ErrorCode):
            data = _refusal(wanted, _translated(partition, self._ctx.api_version))
            if partition in _REFUSALS and not self._is_again:
                self.refused[key] = data
                return
        else:
            data = self._read_partition(key, wanted, partition)
        if self._available_bytes >= self._min_bytes or data.error_code or data.diverging_epoch is not _NO_DIVERGENCE:
            self.is_complete = True
        session = self._session
        if session is not None:
            if session.id == NO_SESSION:
                session.told[key] = data.high_watermark, data.log_start_offset
            else:
                if (
                    data.records is _NO_RECORDS
                    and session.told.get(key) == (data.high_watermark, data.log_start_offset)
                    and not data.error_code
                    and data.diverging_epoch is _NO_DIVERGENCE
                    and data.preferred_read_replica == NO_REPLICA
                ):
                    # The reader knows all of this.
                    return
                self._answered.append((key, data))
        # As `_add`, without the call.
        topics = self._topics
        if topics and topics[-1].topic == key.topic:
            topics[-1].partitions.append(data)
        else:
            topics.append(FetchableTopicResponse(key.topic, [data]))

    def _add(self, key: TopicPartition, data: PartitionData) -> None:
        topics = self._topics
        if topics and topics[-1].topic == key.topic:
            topics[-1].partitions.append(data)
        else:
            topics.append(FetchableTopicResponse(key.topic, [data]))

    @property
    def keys(self) -> list[TopicPartition]:
        """The partitions that were read."""
        return [span[0] for span in self.spans]

    def answer(self) -> FetchResponse | Pending[FetchResponse]:
        """Return the answer in this version of the request; later if records must be converted."""
        ctx = self._ctx
        if self.refused:
            for key, data in self.refused.items():
                self._add(key, data)
        response = FetchResponse(responses=self._topics)
        is_counted = ctx.services.quotas.is_any and self._has_quota()
        if is_counted and not ctx.may_fetch(answer_bytes(response, ctx.api_version)):
            return self._without_records()
        if self._session is not None:
            self._settle(self._session, response)
        if self._throttled_bytes:
            ctx.services.throttled_followers.record(self._throttled_bytes)
        if response.responses and self._is_follower:
            for counts, length in self._found:
                counts.replication_bytes_out += length
        elif response.responses:
            for counts, length in self._found:
                counts.bytes_out += length
            diagnostics = ctx.services.diagnostics
            if self._full is not None and diagnostics is not None:
                user, client_id = ctx.connection.principal.name, ctx.client_id
                diagnostics.note_full_answer(ctx.services.clock.now_ms(), user, client_id, *self._full)
        if ctx.api_version >= FIRST_VERSION_WITH_ZSTD:
            return response
        return adapt_answer(ctx, self._request, self._wanted, response)

    def _has_quota(self) -> bool:
        """Return whether client quotas apply to the reader; they do not apply to followers."""
        return not self._may_follow or not is_follower(self._ctx, self._request.replica_id, self._wanted)

    def _without_records(self) -> FetchResponse:
        """Answer a throttled reader without records; nothing changes."""
        session = self._session
        response = FetchResponse(responses=[])
        if session is not None and session.id != NO_SESSION:
            response.session_id = session.id
            if self._is_overtaken(session):
                response.error_code = ErrorCode.INVALID_FETCH_SESSION_EPOCH
        return response

    def _is_overtaken(self, session: FetchSession) -> bool:
        """Return whether another request of the session arrived while this one waited."""
        epoch = self._request.session_epoch
        return session.epoch != epoch + 1 and session.epoch != next_epoch(epoch)

    def _settle(self, session: FetchSession, response: FetchResponse) -> None:
        """Record the answer in the session, and the session's id in the answer."""
        if session.id == NO_SESSION:
            for key, data in self.refused.items():
                session.told[key] = data.high_watermark, data.log_start_offset
                session.wanted[key] = session.wanted.pop(key)
            response.session_id = self._ctx.services.fetch_sessions.add(session)
            return
        response.session_id = session.id
        if self._is_overtaken(session):
            response.error_code = ErrorCode.INVALID_FETCH_SESSION_EPOCH
            response.responses = []
            return
        if self.refused:
            self._answered += self.refused.items()
        if self._answered:
            session.has_answered(self._answered)

    def _read_partition(self, key: TopicPartition, wanted: FetchPartition, partition: Partition) -> PartitionData:
        """Return the answer for one partition."""
        is_follower = self._is_follower
        if not self._is_again:
            partition.counts.fetch_requests += 1
        # Consumers of these versions may read from a follower.
        is_any_replica = self._ctx.api_version >= _FIRST_VERSION_OF_FOLLOWERS and not is_follower
        leader_epoch = wanted.current_leader_epoch
        error_code = partition.check_leader_epoch(leader_epoch if leader_epoch >= 0 else NO_EPOCH, is_any_replica)
        log = partition.log
        offset = wanted.fetch_offset
        if self._rack and not error_code and partition.followers is not None:
            replica_id = self._nearer_replica(partition.followers, offset)
            if replica_id != NO_REPLICA:
                return self._sent_elsewhere(wanted, partition, replica_id)
        # Before the check of the range: a reader ahead of a truncated log must learn where the logs diverge.
        diverging = _NO_DIVERGENCE
        if wanted.last_fetched_epoch >= 0 and not error_code:
            error_code, diverging = _divergence(partition, wanted)
        is_diverging = diverging is not _NO_DIVERGENCE
        if not error_code and not is_diverging and not log.log_start_offset <= offset <= log.log_end_offset:
            error_code = ErrorCode.OFFSET_OUT_OF_RANGE
        if error_code:
            return _refusal(wanted, error_code)
        is_stranger = is_follower and self._request.replica_id not in partition.replicas
        if is_follower and not self._is_again and not is_diverging and partition.followers is not None:
            # Before the high watermark is read, because this may raise it.
            self._ctx.services.replicas.leader_replicas.note_fetch(
                partition, self._request.replica_id, offset, wanted.log_start_offset
            )
        high_watermark = partition.high_watermark
        last_stable_offset = partition.last_stable_offset
        end_offset = last_stable_offset if self._is_committed else high_watermark
        if is_follower:
            end_offset = log.log_end_offset
        data = PartitionData(
            wanted.partition,
            0,
            high_watermark,
            last_stable_offset,
            log.log_start_offset,
            diverging,
            _NO_LEADER,
            # A list only for consumers that read committed data; null for all others.
            [] if self._is_committed and not is_follower and not is_diverging else None,
            -1,
            _NO_RECORDS,
        )
        found = None
        left_bytes = self._left_bytes
        is_first = self._may_exceed and not self._has_found
        # As in Kafka, the first fetch of a broker that is not a replica finds nothing.
        is_read = not is_diverging and offset < end_offset and (self._is_again or not is_stranger)
        is_throttled = self._leader_quota is not None and self._leader_quota.is_throttled(key)
        if is_read and is_throttled:
            is_read = not self._ctx.services.throttled_followers.is_throttled(partition, self._request.replica_id)
        if is_read and (left_bytes > 0 or is_first):
            try:
                if self._failures and key in self._failures:
                    raise self._failures[key]
                most_bytes = wanted.partition_max_bytes
                if most_bytes > left_bytes:
                    most_bytes = left_bytes
                found = log.read(
                    offset, most_bytes, end_offset, is_first, self._cached, not self._may_exceed, self._copied_bytes
                )
                if found is not None and found.length:
                    if data.aborted_transactions is not None:
                        aborted = log.aborted_transactions(offset, found)
                        data.aborted_transactions = [AbortedTransaction(each[0], each[1]) for each in aborted]
                    if found.length <= self._copied_bytes:
                        data.records = self._copied(found)
                    else:
                        data.records = found
            except NotCachedError as missing:
                self.cold[key] = missing.work
                return data
            except (StorageError, CorruptRecordsError) as error:
                return _refusal(wanted, self._read_failed(key, error))
            if found is not None:
                length = found.length
                if length:
                    self._has_found = True
                    self._found.append((partition.counts, length))
                    self._available_bytes += length
                    self._left_bytes = left_bytes - length
                    # Batches are whole, so a slice of more than half the limit counts as limited by it.
                    if length * 2 > most_bytes and found.position + length < found.file.size:
                        is_partition = most_bytes == wanted.partition_max_bytes
                        self._full = (_OF_PARTITION if is_partition else _OF_ANSWER), most_bytes
                    if is_throttled:
                        self._throttled_bytes += length
                else:
                    # The next batch is larger than the limit: so many bytes are available, but not for this answer.
                    data.aborted_transactions = None
                    self._available_bytes += max(most_bytes, 0)
        self.spans.append((key, log, offset, end_offset, found))
        return data

    def _copied(self, found: FileSlice) -> bytes | bytearray:
        """Return the bytes of a small part; raises NotCachedError and StorageError."""
        self._copied_bytes -= found.length
        if self._cached is None:
            return found.read()
        taken = self._cached.take(found.file, found.position, found.length)
        if taken is None:
            raise NotCachedError(ColdSlice(found.file, found.position, found.length))
        return taken

    def _nearer_replica(self, replicas: ReplicaSet, offset: int) -> int:
        """Return the preferred read replica in the reader's rack; NO_REPLICA: none."""
        brokers, listener_name = self._ctx.services.cluster.image.brokers, self._ctx.connection.listener_name

        def rack_of(broker_id: int) -> str | None:
            broker = brokers.get(broker_id)
            return None if broker is None or listener_name not in broker.endpoints else broker.rack

        return preferred_read_replica(replicas, offset, self._rack, rack_of)

    def _sent_elsewhere(self, wanted: FetchPartition, partition: Partition, replica_id: int) -> PartitionData:
        """Answer without records, with the preferred read replica."""
        # differs from Kafka (sent-at-once): Kafka's answer waits as if records would arrive (KAFKA-13767).
        self.is_complete = True
        return PartitionData(
            wanted.partition,
            0,
            partition.high_watermark,
            partition.last_stable_offset,
            partition.log.log_start_offset,
            _NO_DIVERGENCE,
            _NO_LEADER,
            None,
            replica_id,
            _NO_RECORDS,
        )

    def _read_failed(self, key: TopicPartition, error: StorageError | CorruptRecordsError) -> ErrorCode:
        """Return the reader's error for a log that cannot be read; a failed disk also goes offline."""
        logger.error("cannot read %s: %s", key, error)
        if isinstance(error, CorruptRecordsError):
            return ErrorCode.CORRUPT_MESSAGE
        self._ctx.services.replicas.storage_failed(error)
        return _translated(ErrorCode.KAFKA_STORAGE_ERROR, self._ctx.api_version)


def has_everything(ctx: RequestContext, request: FetchRequest, session: FetchSession) -> bool:
    """Return whether a follower has all records of its session, so that its fetch waits; if so, records its progress.

    A pass would find the same but cost more: it builds an answer that is not sent.
    """
    # hot path: benchmarks/cluster (every fetch of a follower that keeps up)
    if session.id == NO_SESSION or request.replica_id < 0 or request.max_wait_ms <= 0:
        return False
    if request.min_bytes <= 0 or request.max_bytes <= 0 or not ctx.may(_CLUSTER_ACTION, _CLUSTER, CLUSTER):
        return False
    replicas = ctx.services.replicas
    partitions: list[tuple[Partition, FetchPartition]] = []
    for key, wanted in session.wanted.items():
        partition = replicas.partition(key)
        if partition is None or not partition.is_leader or wanted.current_leader_epoch != partition.leader_epoch:
            return False
        if wanted.fetch_offset != partition.log.log_end_offset or wanted.last_fetched_epoch >= 0:
            return False
        partitions.append((partition, wanted))
    for partition, wanted in partitions:
        partition.counts.fetch_requests += 1
        replicas.leader_replicas.note_fetch(partition, request.replica_id, wanted.fetch_offset, wanted.log_start_offset)
    return True


def is_follower(ctx: RequestContext, replica_id: int, partitions: Iterable[TopicPartition]) -> bool:
    """Return whether a client with a replica id, authorized for the cluster, is a follower of these partitions.

    Without access rules every client is authorized: then a follower must be a replica of all these partitions, and lead
    none of them.
    """
    # differs from Kafka (named-followers): in Kafka every such client is a follower.
    services = ctx.services
    return not services.authorizer.allows_everything or services.cluster.image.is_follower(replica_id, partitions)


def _most_in_windows(ctx: RequestContext) -> int:
    """Return the most bytes that a consumer may fetch at once: its quota over all windows but one."""
    bucket = ctx.quota_bucket(_FETCH_QUOTA)
    limit = bucket.limit if bucket is not None else None
    if limit is None:
        return _NO_LIMIT
    windows = ctx.services.quotas.windows
    return int(min(limit * (windows.sample_count - 1) * windows.window_ms / 1_000, _NO_LIMIT))


def _divergence(partition: Partition, wanted: FetchPartition) -> tuple[ErrorCode, EpochEndOffset]:
    """Find the offset at which the reader's history and this log diverge; `_NO_DIVERGENCE` if they do not."""
    epoch, end_offset = partition.log.end_offset_for_epoch(wanted.last_fetched_epoch)
    if end_offset < 0 or wanted.fetch_offset < partition.log.log_start_offset:
        return ErrorCode.OFFSET_OUT_OF_RANGE, _NO_DIVERGENCE
    if epoch < wanted.last_fetched_epoch or end_offset < wanted.fetch_offset:
        return ErrorCode.NONE, EpochEndOffset(epoch, end_offset)
    return ErrorCode.NONE, _NO_DIVERGENCE


def refused_answer(
    request: FetchRequest, error_code: ErrorCode, api_version: int, session_id: int = NO_SESSION
) -> FetchResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    translated = _translated(error_code, api_version)
    return FetchResponse(
        error_code=translated,
        session_id=session_id,
        responses=[
            FetchableTopicResponse(topic.topic, [_refusal(each, translated) for each in topic.partitions])
            for topic in request.topics
        ],
    )


def _translated(error_code: ErrorCode, api_version: int) -> ErrorCode:
    """Return the error code that a client of an old version knows."""
    if error_code == ErrorCode.KAFKA_STORAGE_ERROR and api_version < _FIRST_VERSION_WITH_STORAGE_ERROR:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return error_code


def _refusal(wanted: FetchPartition, error_code: ErrorCode) -> PartitionData:
    return PartitionData(wanted.partition, error_code, -1, -1, -1, _NO_DIVERGENCE, _NO_LEADER, None, -1, _NO_RECORDS)
