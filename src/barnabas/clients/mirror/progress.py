"""A mirror's progress in the target's table: owner, positions and lost records."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from barnabas.clients.admin_calls import EARLIEST, LATEST
from barnabas.clients.mirror.batches import REWRITTEN_BYTES
from barnabas.clients.mirror.offsets import TABLE_TOPIC, BatchMark, Owner, owner_record, place_record
from barnabas.clients.mirror.partition import Link
from barnabas.clients.mirror.plan import PATIENCE_MS, RecordsLostError, check_clusters, is_mirrored
from barnabas.clients.mirror.source_log import read_mark
from barnabas.clients.mirror.topics import MirrorAdmin, TargetTopics
from barnabas.clients.mirror.transactional import TransactionalProducer
from barnabas.clients.mirror.writer import mirrored_elsewhere
from barnabas.clients.positions import (
    Bound,
    Extent,
    Extents,
    Loss,
    LostRange,
    Offsets,
    OnDataLoss,
    PlanError,
    is_pattern,
    lost_ranges,
    matching_topics,
    readable_marks,
)
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.wire.records.builder import BatchBuilder


class MirrorProgress:
    """One source's rows in the table, claimed for this process, and the topics that they cover.

    Attributes:
        extents: The offsets in the source's topics for read_committed consumers, at the last check.
        offline: The partitions without a leader in the source, at the last `look`; they are not in `extents`.
    """

    def __init__(self, link: Link, warn: Callable[[str], None]) -> None:
        """Create the progress; no request is sent yet.

        Args:
            link: The clusters.
            warn: Called with warnings for the operator, one line each.
        """
        self.extents: Extents = {}
        self.offline: set[TopicPartition] = set()
        self._link = link
        self._plan = link.plan
        self._source, self._target = (MirrorAdmin(each, PATIENCE_MS) for each in (link.source, link.target))
        self._targets = TargetTopics(link.plan, self._source, self._target, warn)
        self._warn = warn
        self._left_topics: set[str] = set()
        self._missing_topics: set[str] = set()
        # The start offsets of the plan, until they are in the table; None: not known yet.
        self._chosen: Offsets | None = None

    async def begin(self) -> Offsets:
        """Claim the source, and return the start position of each of its partitions.

        Raises:
            RecordsLostError: records were deleted before they were mirrored, and the plan's reaction is to stop.
            MirrorFencedError: another process claimed the source later.
            PlanError: the plan is impossible.
            KafkaError: a cluster did not answer, or rejected a request; or the plan's start needs a partition that has
                no leader.
        """
        source_id, self._link.target_id = await _cluster_id(self._source), await _cluster_id(self._target)
        check_clusters(self._plan, source_id, self._link.target_id)
        self._targets.forget()
        await self._targets.prepare_table()
        await self._claim(source_id)
        await self.look()
        positions = await self._positions()
        if self._chosen is None:
            # The plan's start applies to a new mirror: later partitions are mirrored from their first record.
            is_first = not positions and self._plan.start != Bound()
            if is_first and self.offline:
                names = ", ".join(map(str, sorted(self.offline)))
                text = f"no start offset is known of partitions without a leader: {names}"
                raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, text)
            self._chosen = await self._start_offsets() if is_first else {}
        if self._chosen:
            await self._write_starts(self._chosen)
            self._chosen = {}
            positions = await self._positions()
        return {
            topic: {
                number: positions.get(topic, {}).get(number, extent.start_offset)
                for number, extent in partitions.items()
            }
            for topic, partitions in self.extents.items()
        }

    async def look(self) -> None:
        """Refresh topics and partitions, then `measure`. Raises KafkaError, PlanError."""
        there = {topic: found for topic, found in (await self._source.there()).items() if is_mirrored(topic)}
        topics = matching_topics(there, self._plan.topics)
        if not topics:
            text = f"{self._plan.run}: none of its topics is there: {', '.join(self._plan.topics)}"
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
        missing = {topic for topic in self._plan.topics if not is_pattern(topic)} - there.keys()
        for topic in sorted(missing - self._missing_topics):
            why = "does not exist, or you may not see it" if is_mirrored(topic) else "is internal, and not mirrored"
            self._warn(f"{self._plan.run}: topic {topic} {why}")
        self._missing_topics = missing
        partitions = {
            TopicPartition(topic, number): found.leader_id
            for topic in topics
            for number, found in sorted(there[topic].partitions.items())
        }
        self.offline = {each for each, leader_id in partitions.items() if leader_id < 0}
        await self._measure([each for each in partitions if each not in self.offline])

    async def measure(self) -> None:
        """Refresh the partitions' extents, and create target topics for them. Raises KafkaError, PlanError."""
        await self._measure(
            [TopicPartition(topic, number) for topic, found in self.extents.items() for number in found]
        )

    async def _measure(self, partitions: Sequence[TopicPartition]) -> None:
        starts = await self._source.offsets(partitions, EARLIEST)
        ends = await self._source.offsets(partitions, LATEST, is_read_committed=True)
        extents: dict[str, dict[int, Extent]] = {}
        for each in partitions:
            extents.setdefault(each.topic, {})[each.partition] = Extent(starts[each], ends[each])
        await self._targets.prepare(ends_of(extents))
        self.extents = extents

    async def check(self) -> None:
        """Raise MirrorFencedError if another process claimed the source later. Raises KafkaError."""
        link = self._link
        await link.table.refresh()
        link.table.check_owner(self._plan.name, self._plan.alias, link.source_id, link.generation)

    def forgotten(self, topic: str, number: int) -> list[tuple[int, int]]:
        """Return the segments below the source's log start, by first source offset and end."""
        start_offset = self.extents[topic][number].start_offset
        segments = self._link.table.offsets.segments.get(self._link.partition(topic, number), {})
        return [(first, each.end_offset) for first, each in segments.items() if each.end_offset <= start_offset]

    # --- owner

    async def _claim(self, source_id: str) -> None:
        """Claim the source for this process, or verify the existing claim."""
        link = self._link
        if link.generation:
            await self.check()
            if source_id == link.source_id:
                return
        # No other process can write an owner of this mirror and cluster any more, so generations are unique.
        producer = self._producer(source_id)
        await producer.fence()
        await link.table.refresh()
        owner = self._next_owner(source_id)
        await _write(producer, [owner_record(owner)], owner.started_ms)
        link.source_id, link.generation = source_id, owner.generation

    def _producer(self, source_id: str) -> TransactionalProducer:
        """Return the producer that claims a source and writes its first places."""
        name = f"barnabas-mirror-{self._plan.name}-{source_id}"
        return TransactionalProducer(self._link.target, name, self._plan.target.transaction_timeout_ms)

    def _next_owner(self, source_id: str) -> Owner:
        plan, offsets = self._plan, self._link.table.offsets
        older = offsets.owners.get((plan.name, plan.alias))
        if older is not None and older.cluster_id != source_id:
            text = f"{plan.run}: the source is cluster {source_id}, and was {older.cluster_id} before"
            if plan.on_data_loss is OnDataLoss.STOP:
                raise PlanError(
                    f"{text}: give it another alias (--source ALIAS=...), or run with --on-data-loss continue to "
                    "mirror the new one from its start"
                )
            self._warn(text)
        latest = offsets.latest_owner(plan.name, plan.alias, source_id)
        generation = latest.generation + 1 if latest else 1
        now_ms = self._link.target.env.clock.now_ms()
        return Owner(plan.name, plan.alias, generation, source_id, plan.host, plan.pid, now_ms)

    # --- positions

    async def _positions(self) -> Offsets:
        """Return the positions of the partitions with a place, after handling lost records."""
        await self._link.table.refresh()
        positions, marks = self._places()
        found = await self._found_marks(readable_marks(marks, self.extents))
        losses = [
            loss
            for loss in lost_ranges(positions, self.extents, marks, found)
            if TopicPartition(loss.topic, loss.partition) not in self.offline
        ]
        if self._plan.on_data_loss is OnDataLoss.STOP:
            left = {
                loss.topic for loss in losses if loss.topic not in self.extents and loss.topic not in self._plan.topics
            }
            self._tell_left(left)
            losses = [loss for loss in losses if loss.topic not in left]
            if losses:
                raise RecordsLostError(self._plan.run, losses)
        for loss in losses:
            self._warn(f"{self._plan.run}: lost {loss}")
            await self._resume(loss)
        if losses:
            await self._link.table.refresh()
            positions, _ = self._places()
        return positions

    def _tell_left(self, topics: set[str]) -> None:
        """Report each deleted topic of a pattern once: its deletion does not stop the other topics.

        Their places stay in the table. If a topic is created again, its marks show that it is another one.
        """
        for topic in sorted(topics - self._left_topics):
            self._warn(f"{self._plan.run}: topic {topic} was deleted, and is not mirrored any more")
        self._left_topics = topics

    def _places(self) -> tuple[Offsets, dict[str, dict[int, BatchMark]]]:
        """Return the positions and the last read batches of all partitions that the plan's topics have or had."""
        offsets, own = self._link.table.offsets, self._link.partition("", 0)
        known = [each for each in offsets.places if (each.mirror, each.cluster_id) == (own.mirror, own.cluster_id)]
        wanted = set(matching_topics({source.topic for source in known}, self._plan.topics))
        positions: Offsets = {}
        marks: dict[str, dict[int, BatchMark]] = {}
        for source in known:
            if source.topic in wanted:
                place = offsets.places[source]
                target_topic = self._plan.target_topic(source.topic)
                if place.target_topic != target_topic:
                    raise PlanError(mirrored_elsewhere(source, place, target_topic))
                positions.setdefault(source.topic, {})[source.partition] = place.position
                if place.batch is not None:
                    marks.setdefault(source.topic, {})[source.partition] = place.batch
        return positions, marks

    async def _found_marks(self, marks: Mapping[str, Mapping[int, BatchMark]]) -> dict[str, dict[int, BatchMark]]:
        """Return the current marks at the offsets of the last read batches; unknown ones are left out."""
        found: dict[str, dict[int, BatchMark]] = {}
        for topic, partitions in marks.items():
            for number, mark in partitions.items():
                there = await read_mark(self._link.source, TopicPartition(topic, number), mark.offset)
                if there is not None:
                    found.setdefault(topic, {})[number] = there
        return found

    async def _resume(self, loss: LostRange) -> None:
        """Resume a partition at the first readable offset."""
        writer = await self._link.open_writer(loss.topic, loss.partition, loss.start_offset)
        if loss.loss is Loss.OVERTAKEN and loss.resume_offset is not None:
            # The remaining records are unchanged, so the table stays valid for them.
            await writer.commit(loss.resume_offset, None)
        else:
            segments = self._link.table.offsets.segments.get(self._link.partition(loss.topic, loss.partition), {})
            await writer.reset(loss.resume_offset, segments)

    async def _start_offsets(self) -> Offsets:
        """Return the plan's start offsets in the existing partitions."""
        start = self._plan.start
        partitions = [TopicPartition(topic, number) for topic, found in self.extents.items() for number in found]
        at_time = {} if start.time_ms is None else await self._source.offsets(partitions, start.time_ms)
        chosen: Offsets = {}
        for topic, number in partitions:
            extent = self.extents[topic][number]
            offset = (start.offsets or {}).get(topic, {}).get(number)
            if start.time_ms is not None:
                offset = at_time[TopicPartition(topic, number)]
            if offset is None or offset < 0:
                is_at_end = start.is_latest or start.time_ms is not None
                offset = extent.end_offset if is_at_end else extent.start_offset
            chosen.setdefault(topic, {})[number] = offset
        return chosen

    async def _write_starts(self, starts: Offsets) -> None:
        """Store the start offsets of partitions without a place, all or none; existing places are kept.

        So a start time is resolved once, even if the process restarts before the first record.
        """
        link = self._link
        producer = self._producer(link.source_id)
        # A later process fences this producer with its claim, and earlier ones are fenced by the writers.
        await producer.fence()
        records = []
        for topic, partitions in starts.items():
            for number, offset in partitions.items():
                source = link.partition(topic, number)
                if source not in link.table.offsets.places:
                    writer = await link.open_writer(topic, number, offset)
                    records.append(place_record(source, writer.place))
        await _write(producer, records, link.target.env.clock.now_ms())
        # Other producers can read the places after the transaction is complete.
        await producer.fence()


def ends_of(extents: Extents) -> Offsets:
    """Return the ends of partitions."""
    return {topic: {number: each.end_offset for number, each in found.items()} for topic, found in extents.items()}


async def _write(producer: TransactionalProducer, records: Iterable[tuple[bytes, bytes]], now_ms: int) -> None:
    """Write records of the table in one transaction. Raises KafkaError."""
    table = TopicPartition(TABLE_TOPIC, 0)
    await producer.begin(table)
    builder = BatchBuilder()
    for key, value in records:
        builder.append(now_ms, key, value)
        if builder.uncompressed_bytes >= REWRITTEN_BYTES:
            await producer.send(table, builder.build(), builder.record_count)
            builder = BatchBuilder()
    if builder.record_count:
        await producer.send(table, builder.build(), builder.record_count)
    await producer.commit()


async def _cluster_id(admin: MirrorAdmin) -> str:
    """Return the cluster's id. Raises KafkaError."""
    metadata = await admin.retry(lambda: admin.pool.metadata([]))
    return metadata.cluster_id or ""
