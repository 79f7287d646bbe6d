"""A mirror's progress in the target's table: whose it is, how far it is, what was lost meanwhile."""

import os
import platform
import time
from collections.abc import Callable
from contextlib import closing

from barnabas.clients.mirror_offsets import Owner, SourcePartition
from barnabas.clients.positions import Extents, Loss, LostRange
from barnabas.pipeline.mirror.plan import MirrorPlan
from barnabas.pipeline.mirror.table import OffsetTable
from barnabas.pipeline.mirror.writer import Hint, PartitionWriter, Route, mirrored_elsewhere, write_owner
from barnabas.pipeline.runner.cluster import Cluster
from barnabas.pipeline.runner.losses import DataLossError, find_losses
from barnabas.pipeline.runner.plan import OnDataLoss, PlanError
from barnabas.pipeline.runner.query import matching_topics
from barnabas.pipeline.tables.table import Mark, Offsets, Progress

_REMEDY = (
    "run again with --on-data-loss continue to go on where the source still has records; each range is told then, too"
)


class MirrorProgress:
    """One source's rows in the table, claimed for this process.

    Attributes:
        table: The target's.
        source_cluster_id: The source's own id; empty before `claim`.
        generation: Of this process among those that have mirrored the source under this name; 0 before `claim`.
    """

    def __init__(self, plan: MirrorPlan, source: Cluster, warn: Callable[[str], None]) -> None:
        """Nothing is read yet."""
        self.table = OffsetTable(plan.target)
        self.source_cluster_id = ""
        self.generation = 0
        self._plan = plan
        self._source = source
        self._warn = warn
        self._left_topics: set[str] = set()

    def claim(self, source_cluster_id: str) -> None:
        """Become the one that mirrors this source, or see that it still is.

        Raises:
            MirrorFencedError: it is not any more.
            PlanError: the source is another cluster than before, and the plan says to stop then.
            ClusterUnavailableError: the target did not answer.
        """
        if self.generation:
            self.table.refresh()
            self.check()
            if source_cluster_id == self.source_cluster_id:
                return
        plan = self._plan
        owner = write_owner(plan.target, plan.name, source_cluster_id, lambda: self._next_owner(source_cluster_id))
        self.source_cluster_id, self.generation = source_cluster_id, owner.generation

    def check(self) -> None:
        """See that nobody has come later, as far as the table was read. Raises MirrorFencedError."""
        self.table.check_owner(self._plan.name, self._plan.alias, self.source_cluster_id, self.generation)

    def _next_owner(self, source_cluster_id: str) -> Owner:
        plan = self._plan
        self.table.refresh()
        older = self.table.offsets.owners.get((plan.name, plan.alias))
        if older is not None and older.cluster_id != source_cluster_id:
            text = f"{plan.run}: the source is cluster {source_cluster_id}, and was {older.cluster_id} before"
            if plan.on_data_loss is OnDataLoss.STOP:
                raise PlanError(
                    f"{text}: give it another alias (--source ALIAS=...), or run with --on-data-loss continue to "
                    "mirror the new one from its start"
                )
            self._warn(text)
        latest = self.table.offsets.latest_owner(plan.name, plan.alias, source_cluster_id)
        generation = latest.generation + 1 if latest else 1
        now_ms = round(time.time() * 1000)
        return Owner(plan.name, plan.alias, generation, source_cluster_id, platform.node(), os.getpid(), now_ms)

    def partition(self, topic: str, number: int) -> SourcePartition:
        """Name a partition of the source as the table does."""
        return SourcePartition(self._plan.name, self.source_cluster_id, topic, number)

    def positions(self, extents: Extents) -> Offsets:
        """Return where to go on in the partitions that the table has a place of, having dealt with what was lost.

        Args:
            extents: What the source's topics hold.

        Raises:
            DataLossError: something was lost, and the plan says to stop.
            PlanError: a topic is mirrored to another one under this name.
            ClusterUnavailableError: a cluster did not answer.
        """
        positions, marks = self._places()
        progress = Progress(self._plan.run, 1, self.source_cluster_id, positions, marks)
        losses = find_losses(self._source, self.source_cluster_id, positions, extents, [progress])
        if self._plan.on_data_loss is OnDataLoss.STOP:
            left = {loss.topic for loss in losses if loss.topic not in extents and loss.topic not in self._plan.topics}
            self._tell_left(left)
            losses = [loss for loss in losses if loss.topic not in left]
            if losses:
                raise DataLossError(self._plan.run, losses, _REMEDY)
        for loss in losses:
            self._warn(f"{self._plan.run}: lost {loss}")
            self._resume(loss)
        if losses:
            self.table.refresh()
            positions, _ = self._places()
        return positions

    def _tell_left(self, topics: set[str]) -> None:
        """Say which topics of a pattern were deleted, each once: who deletes one does not mean to stop the others.

        Their places stay: should a topic come back, it is seen whether it is the same.
        """
        for topic in sorted(topics - self._left_topics):
            self._warn(f"{self._plan.run}: topic {topic} is not there any more, and mirrored no further")
        self._left_topics = topics

    def begin(self, starts: Offsets) -> None:
        """Write down where partitions begin that have no place yet; those that have one keep it.

        So a moment that was asked for is that of the first start, also for who starts again before anything came.

        Raises:
            MirrorFencedError: a later process mirrors the same source.
            ClusterUnavailableError: the target did not do it; it can be asked again.
        """
        for topic, partitions in starts.items():
            for number, offset in partitions.items():
                if self.partition(topic, number) not in self.table.offsets.places:
                    with closing(self._writer(topic, number, offset)) as writer:
                        writer.commit(writer.position, None)
        self.table.refresh()

    def _places(self) -> tuple[Offsets, dict[str, dict[int, Mark]]]:
        """Return the positions and the last records read, of all partitions that the plan's topics have or had.

        Raises:
            PlanError: a topic is mirrored to another one under this name.
        """
        own = (self._plan.name, self.source_cluster_id)
        known = [source for source in self.table.offsets.places if (source.mirror, source.cluster_id) == own]
        wanted = set(matching_topics({source.topic for source in known}, self._plan.topics))
        positions: Offsets = {}
        marks: dict[str, dict[int, Mark]] = {}
        for source in known:
            if source.topic in wanted:
                place = self.table.offsets.places[source]
                target_topic = self._plan.target_topic(source.topic)
                if place.target_topic != target_topic:
                    raise PlanError(mirrored_elsewhere(source, place, target_topic))
                positions.setdefault(source.topic, {})[source.partition] = place.position
                if place.mark is not None:
                    marks.setdefault(source.topic, {})[source.partition] = Mark(*place.mark)
        return positions, marks

    def _resume(self, loss: LostRange) -> None:
        """Let a partition go on where there is something to read."""
        segments = self.table.offsets.segments.get(self.partition(loss.topic, loss.partition), {})
        with closing(self._writer(loss.topic, loss.partition, loss.start_offset)) as writer:
            if loss.loss is Loss.OVERTAKEN and loss.resume_offset is not None:
                # The records that are there are those of before: what the table says of them stays true.
                writer.commit(loss.resume_offset, None)
            else:
                writer.reset(loss.resume_offset, segments)

    def _writer(self, topic: str, number: int, start_offset: int) -> PartitionWriter:
        """Return a writer of one partition, which goes on at its place; where it has none, at an offset."""
        source = self.partition(topic, number)
        route = Route(source, self._plan.alias, self._plan.target, self._plan.target_topic(topic), self.generation)
        place = self.table.offsets.places.get(source)
        return PartitionWriter(route, Hint(place, self.table.read_offset, start_offset, start_offset))
