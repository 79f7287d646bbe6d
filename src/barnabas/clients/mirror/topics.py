"""The target's topics: created like the source's, and grown with them."""

from collections.abc import Callable, Iterable, Mapping

from barnabas.clients.admin_configs import ConfigAdmin, ConfigEntry, ConfigResource, ConfigSource, ResourceType
from barnabas.clients.admin_offsets import OffsetAdmin
from barnabas.clients.admin_topics import NewPartitions, NewTopic, TopicAdmin
from barnabas.clients.mirror.offsets import TABLE_CONFIGS, TABLE_TOPIC
from barnabas.clients.mirror.plan import MirrorPlan
from barnabas.clients.pool import TopicMetadata
from barnabas.clients.positions import PlanError
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError

_TIMESTAMP_TYPE = "message.timestamp.type"
_LOG_APPEND_TIME = "LogAppendTime"
# MirrorMaker 2 does not copy these settings either. Replica lists contain broker ids of the source. With the others,
# the target could refuse or lose records that the source keeps: it has other replicas, and gets the records later.
_NOT_COPIED = frozenset(
    {
        "leader.replication.throttled.replicas",
        "follower.replication.throttled.replicas",
        "message.timestamp.difference.max.ms",
        "min.insync.replicas",
        "unclean.leader.election.enable",
    }
)


class MirrorAdmin(TopicAdmin, OffsetAdmin, ConfigAdmin):
    """Administration of a cluster, as far as a mirror needs it."""

    async def there(self) -> dict[str, TopicMetadata]:
        """Return the existing topics. Raises KafkaError."""
        return {name: topic for name, topic in (await self.topics()).items() if topic.error_code is ErrorCode.NONE}

    async def topic_configs(self, topic: str) -> list[ConfigEntry]:
        """Return the settings in force for a topic. Raises KafkaError."""
        resource = ConfigResource(ResourceType.TOPIC, topic)
        return (await self.describe_configs([resource], include_synonyms=False))[resource]


class TargetTopics:
    """Ensures that source topics have target topics with at least as many partitions."""

    def __init__(self, plan: MirrorPlan, source: MirrorAdmin, target: MirrorAdmin, warn: Callable[[str], None]) -> None:
        """Create the object; no request is sent yet."""
        self._plan = plan
        self._source = source
        self._target = target
        self._warn = warn
        self._partition_counts: dict[str, int] = {}

    async def prepare_table(self) -> None:
        """Create the offset table if it does not exist. Raises KafkaError."""
        if TABLE_TOPIC not in await self._target.there():
            await self._create(NewTopic(TABLE_TOPIC, 1, configs=TABLE_CONFIGS))

    async def prepare(self, ends: Mapping[str, Mapping[int, int]]) -> None:
        """Create or grow the target topics, so that they have all partitions of the source.

        A topic that matches a pattern gets its target after its first record: otherwise mirrors in both directions,
        whose patterns match each other's topics, would create topics without end.

        Args:
            ends: The ends of the source's topics, by topic and partition: the offset after the last record ever.

        Raises:
            PlanError: an existing target topic would overwrite timestamps (LogAppendTime).
            KafkaError: a cluster did not answer, or rejected a request.
        """
        partition_counts = {
            topic: max(partitions) + 1
            for topic, partitions in ends.items()
            if any(partitions.values()) or (partitions and topic in self._plan.topics)
        }
        short = [topic for topic, count in partition_counts.items() if self._partition_counts.get(topic, 0) < count]
        if not short:
            return
        there = await self._target.there()
        for topic in short:
            name, count = self._plan.target_topic(topic), partition_counts[topic]
            if name not in there:
                await self._make(topic, name, count)
            else:
                await self._check(name)
                count_before = len(there[name].partitions)
                if count_before < count:
                    await self._target.create_partitions({name: NewPartitions(count)})
                    self._warn(f"{self._plan.run}: topic {name} had {count_before} partitions and now has {count}")
            self._partition_counts[topic] = count

    def forget(self) -> None:
        """Discard cached topics, which may have been deleted."""
        self._partition_counts.clear()

    async def _make(self, topic: str, name: str, partition_count: int) -> None:
        settings, has_own_time = target_settings(await self._source.topic_configs(topic))
        await self._create(NewTopic(name, partition_count, configs=settings))
        told = ", ".join(f"{key}={value}" for key, value in sorted(settings.items()))
        self._warn(f"{self._plan.run}: made topic {name} with {partition_count} partitions ({told})")
        if has_own_time:
            self._warn(
                f"{self._plan.run}: {topic} has {_TIMESTAMP_TYPE}={_LOG_APPEND_TIME}; {name} has CreateTime, so that "
                "the timestamps stay those of the source"
            )

    async def _create(self, topic: NewTopic) -> None:
        try:
            await self._target.create_topic(topic)
        except KafkaError as error:
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise

    async def _check(self, name: str) -> None:
        for each in await self._target.topic_configs(name):
            if each.name == _TIMESTAMP_TYPE and each.value == _LOG_APPEND_TIME:
                raise PlanError(
                    f"{self._plan.run}: topic {name} of the target has {_TIMESTAMP_TYPE}={_LOG_APPEND_TIME}, so the "
                    "source's timestamps would be lost: set it to CreateTime, or give the topics another --prefix"
                )


def target_settings(configs: Iterable[ConfigEntry]) -> tuple[dict[str, str], bool]:
    """Return a target topic's settings, from the source topic's own; and whether the source has LogAppendTime.

    The target always has CreateTime, because otherwise it would overwrite the source's timestamps.
    """
    has_own_time, settings = False, {}
    for each in configs:
        if each.name == _TIMESTAMP_TYPE:
            has_own_time = each.value == _LOG_APPEND_TIME
        elif (
            each.source is ConfigSource.DYNAMIC_TOPIC_CONFIG and each.value is not None and each.name not in _NOT_COPIED
        ):
            settings[each.name] = each.value
    settings[_TIMESTAMP_TYPE] = "CreateTime"
    return settings, has_own_time
