"""The offsets at which a run starts and ends."""

import json
from collections.abc import Callable, Collection, Mapping

from barnabas.clients.positions import Extents, PlanError, is_pattern, merged
from barnabas.pipeline.job import TopicInput
from barnabas.pipeline.runner.batch_run import QueryStoppedError
from barnabas.pipeline.runner.checkpoint import Files
from barnabas.pipeline.runner.cluster import Cluster
from barnabas.pipeline.runner.inputs import input_topics
from barnabas.pipeline.runner.plan import Bound, RunPlan, parse_offsets
from barnabas.pipeline.spark.jvm_errors import reason_of
from barnabas.pipeline.tables.table import Offsets

_STARTS_FILE = "starts.json"


class Starts:
    """The start offsets of a run's partitions without progress.

    Once the run has progress, they are those that are stored in the checkpoint: until the first commit of each table, a
    failed batch or a kill must not change them.
    """

    def __init__(self, plan: RunPlan, cluster: Cluster, files: Files) -> None:
        self._plan = plan
        self._cluster = cluster
        self._files = files
        self._found: Offsets | None = None

    def find(self, extents: Extents, read: Collection[str], resumed: Offsets) -> Offsets:
        """Return the start offsets of all partitions.

        Until the run has progress, all topics begin at the plan's start; at later starts those that you added by name.
        Topics that a pattern finds later, and topics and partitions that are created later or again (`resumed`), begin
        at their first record: nobody decides when they are found.

        Args:
            extents: The partitions of the run's topics.
            read: The topics with progress.
            resumed: Where the run resumes after a loss.

        Raises:
            ClusterUnavailableError: the cluster did not answer.
            QueryStoppedError: the checkpoint can't be read or written.
            PlanError: an offset of the plan's start is beyond the log end.
        """
        is_first_look = self._found is None
        stored = stored_offsets(self._files, _STARTS_FILE) if self._found is None else self._found
        is_first_start = is_first_look and not read
        starts = {} if is_first_start else stored
        new = {topic: own for topic, own in extents.items() if topic not in starts and topic not in read}
        named = self.named_topics()
        chosen = {topic: own for topic, own in new.items() if is_first_start or (is_first_look and topic in named)}
        later = {topic: own for topic, own in new.items() if topic not in chosen}
        if chosen and self._plan.start.offsets is not None:
            _check_log_ends(self._plan.start.offsets, self._cluster.log_ends(chosen))
        for bound, some in ((self._plan.start, chosen), (Bound(), later)):
            if some:
                starts = merged(starts, start_offsets(self._cluster, bound, some))
        if absent := named - extents.keys() - starts.keys() - set(read):
            # They are created later, and not added.
            starts = {**starts, **{topic: {} for topic in sorted(absent)}}
        starts = merged(starts, resumed)
        if starts != stored:
            store_offsets(self._files, _STARTS_FILE, starts)
        self._found = starts
        is_beyond = any(
            starts.get(topic, {}).get(number, 0) > extent.end_offset
            for topic, own in extents.items()
            for number, extent in own.items()
        )
        # Above the last stable offset there may be records, too. A start that you gave as an offset stays.
        log_ends = self._cluster.log_ends(extents) if is_beyond and self._plan.start.offsets is None else starts
        return {
            topic: {
                number: _within(
                    extent.start_offset,
                    starts.get(topic, {}).get(number, extent.start_offset),
                    max(extent.end_offset, log_ends.get(topic, {}).get(number, 0)),
                )
                for number, extent in own.items()
            }
            for topic, own in extents.items()
        }

    def named_topics(self) -> set[str]:
        """Return the topics that the plan names; a pattern names none."""
        inputs = [each for each in self._plan.job.inputs if isinstance(each, TopicInput)]
        return {each for each in self._plan.any_topics if not is_pattern(each)} | {
            topic for each in inputs if (topic := self._plan.topic_of_input(each))
        }


def start_offsets(cluster: Cluster, start: Bound, extents: Extents) -> Offsets:
    """Return the offsets of a start, for partitions that the run has not read yet.

    Raises:
        ClusterUnavailableError: the cluster did not answer.
    """
    if start.time_ms is not None:
        return cluster.offsets_at(extents, start.time_ms)
    given = start.offsets or {}
    return {
        topic: {
            number: given.get(topic, {}).get(number, extent.end_offset if start.is_latest else extent.start_offset)
            for number, extent in partitions.items()
        }
        for topic, partitions in extents.items()
    }


def target_offsets(plan: RunPlan, cluster: Cluster, extents: Extents, warn: Callable[[str], None]) -> Offsets | None:
    """Return the offsets of the plan's end; None if it has no end.

    Raises:
        ClusterUnavailableError: the cluster did not answer.
    """
    bound = plan.until
    if bound is None:
        return None
    if bound.time_ms is not None:
        return cluster.offsets_at(extents, bound.time_ms)
    if bound.offsets is not None:
        inputs = [each for each in plan.job.inputs if isinstance(each, TopicInput)]
        own = {plan.topic_of_input(each) for each in inputs}
        own.update(input_topics(bound.offsets, plan.any_topics))
        # The other topics are those of other jobs of the run.
        named = {topic: partitions for topic, partitions in bound.offsets.items() if topic in own}
        if not named:
            warn(f"{plan.run}: --until names none of its topics")
        # Partitions that it does not name are not read.
        return {
            topic: {**dict.fromkeys(extents.get(topic, {}), 0), **named.get(topic, {})}
            for topic in {**extents, **named}
        }
    return ends_of(extents)


def without_open_transactions(
    run: str, targets: Offsets, extents: Extents, log_ends: Offsets, warn: Callable[[str], None]
) -> Offsets:
    """Lower targets inside an open transaction to its start: its records cannot be read before it ends."""
    result = {topic: dict(numbers) for topic, numbers in targets.items()}
    for topic, numbers in ends_of(extents).items():
        for number, end in numbers.items():
            log_end = log_ends.get(topic, {}).get(number, end)
            target = targets.get(topic, {}).get(number, 0)
            # Nothing is read up to target 0.
            if target > 0 and end < log_end and end <= target:
                warn(
                    f"{run}: {topic}-{number} has an open transaction from offset {end:,} on: a later run reads the "
                    f"records up to the log end ({log_end:,})"
                )
                if target <= log_end:
                    result[topic][number] = end
    return result


def ends_of(extents: Extents) -> Offsets:
    """Return the end offsets of extents."""
    return {
        topic: {number: extent.end_offset for number, extent in partitions.items()}
        for topic, partitions in extents.items()
    }


def stored_offsets(files: Files, name: str) -> Offsets:
    """Return the offsets in a file of the checkpoint; empty if it does not exist."""
    try:
        return parse_offsets(files.read(name) or "{}")
    except OSError as error:
        raise QueryStoppedError(f"{files.directory}: can't be used: {reason_of(error)}") from error


def store_offsets(files: Files, name: str, offsets: Offsets) -> None:
    """Write offsets to a file of the checkpoint."""
    try:
        files.write(name, json.dumps(offsets))
    except OSError as error:
        raise QueryStoppedError(f"{files.directory}: can't be used: {reason_of(error)}") from error


def _check_log_ends(given: Mapping[str, Mapping[int, int]], log_ends: Offsets) -> None:
    for topic, ends in log_ends.items():
        for number, end in ends.items():
            if (offset := given.get(topic, {}).get(number, 0)) > end:
                raise PlanError(f"--from-time: {topic}-{number}: offset {offset} is beyond the log end ({end})")


def _within(first: int, start: int, end: int) -> int:
    """Return a start offset; the partition's first offset if the start is not in the log."""
    return start if first <= start <= end else first
