"""All streams of a mirror: started together, stopped together, and ended by the first that fails."""

import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

from barnabas.api.connector.topic_filter import TopicFilter
from barnabas.api.mirror.errors import MirrorError
from barnabas.api.mirror.kafka_source import KafkaSource
from barnabas.api.mirror.librdkafka import Notes
from barnabas.api.mirror.settings import Options, is_in_zookeeper, source_name
from barnabas.api.mirror.source import Source
from barnabas.api.mirror.stream import Stream
from barnabas.api.mirror.target import Target
from barnabas.core.errors import BarnabasError


class MirrorPlan(NamedTuple):
    """The plan of a mirror: its topics, and how they are copied.

    Attributes:
        sources: The settings of each source cluster, as `consumer_settings` gives them, or `connector_settings`.
        target: The target's, as `producer_settings` gives them.
        topics: Which topics.
        stream_count: Streams for each source: threads, each a member of its group.
        keeps_partitions: A message goes into the partition of the same number; else by its key.
        commit_interval_s: Seconds between commits.
    """

    sources: Sequence[Options]
    target: Options
    topics: TopicFilter
    stream_count: int = 1
    keeps_partitions: bool = False
    commit_interval_s: float = 60.0


class Mirror:
    """Copies from `start` to `stop`, or until something fails.

    Attributes:
        notes: What went wrong and is tried again.
    """

    def __init__(self, plan: MirrorPlan) -> None:
        self.notes = Notes()
        self._plan = plan
        self._stopped = threading.Event()
        self._streams: list[Stream] = []

    def start(self) -> None:
        """Look whether everything is there, then start the threads.

        Raises:
            MirrorError: A cluster does not answer, a setting can't be, or a source is the target.
        """
        plan = self._plan
        probe = self._new_target()
        target_id = probe.cluster_id()
        probe.close()
        for options in plan.sources:
            source_id = self._source_id(options)
            if source_id is not None and source_id == target_id:
                raise MirrorError(
                    f"{source_name(options)} is of the target's cluster: every message would be mirrored for ever"
                )
        for source_number, options in enumerate(plan.sources):
            for number in range(plan.stream_count):
                name = f"mirror-{source_number}-{number}"
                self._streams.append(
                    Stream(
                        name, self._opener(options, number), self._new_target(), plan.commit_interval_s, self._stopped
                    )
                )
        for stream in self._streams:
            stream.start()

    def stop(self) -> None:
        """Have the streams bring what is under way to the target, commit, and end. Does not wait for that."""
        self._stopped.set()

    def join(self) -> None:
        """Wait until all streams have ended.

        Raises:
            BarnabasError: What ended the first of them, or that not everything could be committed.
        """
        for stream in self._streams:
            stream.join()
        if self.failure is not None:
            raise self.failure
        if not all(stream.could_commit for stream in self._streams):
            raise MirrorError(
                "the target did not acknowledge everything in time: some messages will be mirrored again next time"
            )

    @property
    def failure(self) -> BarnabasError | None:
        """Return the error that ended a stream."""
        return next((stream.failure for stream in self._streams if stream.failure is not None), None)

    @property
    def is_running(self) -> bool:
        """Whether all streams run."""
        return bool(self._streams) and all(stream.is_running for stream in self._streams)

    @property
    def acknowledged_count(self) -> int:
        """Messages that the target has acknowledged."""
        return sum(stream.target.acknowledged_count for stream in self._streams)

    @property
    def acknowledged_bytes(self) -> int:
        """Bytes of their values."""
        return sum(stream.target.acknowledged_bytes for stream in self._streams)

    def _new_target(self) -> Target:
        return Target(self._plan.target, self.notes, keeps_partitions=self._plan.keeps_partitions)

    def _source_id(self, options: Options) -> str | None:
        """The id of a source's cluster, where it has one. Raises BarnabasError: Nobody answers."""
        if is_in_zookeeper(options):
            from barnabas.api.mirror.zookeeper_source import source_cluster_id

            return source_cluster_id(options)
        source = KafkaSource(options, self._plan.topics, lambda: False, self.notes)
        try:
            return source.cluster_id()
        finally:
            source.close()

    def _opener(self, options: Options, number: int) -> Callable[[Callable[[], bool]], Source]:
        """Return the function that makes the source of a stream of this number."""
        if not is_in_zookeeper(options):
            return lambda drained: KafkaSource(options, self._plan.topics, drained, self.notes)
        from barnabas.api.mirror.zookeeper_source import ZooKeeperSource

        own = dict(options)
        if number and own.get("consumer.id"):
            # Each stream is a consumer with a name of its own.
            own["consumer.id"] = f"{own['consumer.id']}-{number}"
        return lambda drained: ZooKeeperSource(own, self._plan.topics, self.notes)
