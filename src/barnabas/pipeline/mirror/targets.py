"""The topics of the target: made as those of the source are, and grown with them."""

from collections.abc import Callable, Mapping

from barnabas.clients.mirror_offsets import TABLE_CONFIGS, TABLE_TOPIC
from barnabas.pipeline.mirror.plan import MirrorPlan
from barnabas.pipeline.runner.cluster import Cluster, TopicConfig
from barnabas.pipeline.runner.plan import PlanError
from barnabas.pipeline.tables.table import Offsets

_TIMESTAMP_TYPE = "message.timestamp.type"
_LOG_APPEND_TIME = "LogAppendTime"
# They name brokers of the source.
_REPLICA_LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")


class Targets:
    """Sees to it that source topics have their topics in the target, with as many partitions at least."""

    def __init__(self, plan: MirrorPlan, source: Cluster, target: Cluster, warn: Callable[[str], None]) -> None:
        """Nothing is asked yet."""
        self._plan = plan
        self._source = source
        self._target = target
        self._warn = warn
        self._partition_counts: dict[str, int] = {}

    def prepare_table(self) -> None:
        """Make sure that the offset table is there.

        Raises:
            ClusterUnavailableError: the target did not do it.
        """
        self._target.create_topic(TABLE_TOPIC, TABLE_CONFIGS, 1)

    def prepare(self, ends: Offsets) -> None:
        """Make sure that the targets of topics can take their partitions.

        A topic that a pattern has taken gets its target when it has had a record: mirrors both ways whose patterns take
        each other's topics would make topics of topics without end.

        Args:
            ends: Where topics of the source end: by topic and partition, what follows the last record ever.

        Raises:
            PlanError: a topic that is there would put its own timestamps.
            ClusterUnavailableError: a cluster did not answer, or refused.
        """
        partition_counts = {
            topic: max(partitions) + 1
            for topic, partitions in ends.items()
            if any(partitions.values()) or (partitions and topic in self._plan.topics)
        }
        short = [topic for topic, count in partition_counts.items() if self._partition_counts.get(topic, 0) < count]
        if not short:
            return
        there = self._target.partitions([self._plan.target_topic(topic) for topic in short])
        for topic in short:
            name, count = self._plan.target_topic(topic), partition_counts[topic]
            if name not in there:
                self._create(topic, name, count)
            else:
                self._check(name)
                if len(there[name]) < count:
                    self._target.add_partitions(name, count)
                    self._warn(f"{self._plan.run}: topic {name} had {len(there[name])} partitions and now has {count}")
            self._partition_counts[topic] = count

    def forget(self) -> None:
        """Ask again the next time: topics may have been deleted."""
        self._partition_counts.clear()

    def _create(self, topic: str, name: str, partition_count: int) -> None:
        configs = self._source.topic_configs([topic])[topic]
        settings, has_own_time = target_settings(configs)
        self._target.create_topic(name, settings, partition_count)
        told = ", ".join(f"{key}={value}" for key, value in sorted(settings.items()))
        self._warn(
            f"{self._plan.run}: made topic {name} with {partition_count} partitions {f'({told})' if told else ''}"
        )
        if has_own_time:
            self._warn(
                f"{self._plan.run}: {topic} has {_TIMESTAMP_TYPE}={_LOG_APPEND_TIME}; {name} has CreateTime, so that "
                "the timestamps stay those of the source"
            )

    def _check(self, name: str) -> None:
        found = self._target.topic_configs([name])[name].get(_TIMESTAMP_TYPE)
        if found is not None and found.value == _LOG_APPEND_TIME:
            raise PlanError(
                f"{self._plan.run}: topic {name} of the target has {_TIMESTAMP_TYPE}={_LOG_APPEND_TIME}, so the "
                "source's timestamps would be lost: set it to CreateTime, or give the topics another --prefix"
            )


def target_settings(configs: Mapping[str, TopicConfig]) -> tuple[dict[str, str], bool]:
    """Return the settings of a target topic, as set for the source's own; and whether the source has its own time.

    Timestamps are always CreateTime there, else the target would put its own.
    """
    settings = {
        name: config.value
        for name, config in configs.items()
        if config.is_own and config.value is not None and name not in _REPLICA_LISTS and name != _TIMESTAMP_TYPE
    }
    settings[_TIMESTAMP_TYPE] = "CreateTime"
    source_time = configs.get(_TIMESTAMP_TYPE)
    return settings, source_time is not None and source_time.value == _LOG_APPEND_TIME
