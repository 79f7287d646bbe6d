"""A source whose group lives in ZooKeeper: a ConsumerConnector reads, offsets are where `offsets.storage` says.

Each stream has a connector of its own, so that a commit is about nothing but what this stream has brought to the
target. The connector never commits by itself: what it gives up in a rebalance is read by the next owner from the last
commit on.

Source: design document of 0.8.2, mirroring; kafka-mirror-maker of 0.8.2.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from barnabas.api.connector.connector import ConsumerConnector
from barnabas.api.connector.errors import ConsumerTimeoutError, OffsetCommitError
from barnabas.api.connector.settings import TABLE
from barnabas.api.connector.topic_filter import TopicFilter
from barnabas.api.errors import ApiError
from barnabas.api.mirror.errors import MirrorError
from barnabas.api.mirror.librdkafka import Notes
from barnabas.api.mirror.source import SourceMessage
from barnabas.clients.zookeeper import zookeeper_options
from barnabas.core.dice import system_dice
from barnabas.core.errors import BarnabasError
from barnabas.wire.registry.bootstrap import cluster_id
from barnabas.wire.registry.zookeeper import ZooKeeperRegistry

_TAKEN_AT_ONCE: Final = 500


class ZooKeeperSource:
    """One consumer of the group, for one thread."""

    def __init__(self, options: Mapping[str, object], topics: TopicFilter, notes: Notes) -> None:
        """Join the group.

        Args:
            options: As `connector_settings` gives them.
            topics: Which topics.
            notes: Told what went wrong and is tried again.

        Raises:
            BarnabasError: No ZooKeeper answers, or the group could not share the partitions out.
        """
        self._name = str(options["zookeeper.connect"])
        self._notes = notes
        self._failure: BarnabasError | None = None
        self._connector = ConsumerConnector(options)
        (self._stream,) = self._connector.create_message_streams_by_filter(topics, 1)

    @property
    def name(self) -> str:
        return self._name

    def take(self, timeout_s: float) -> Sequence[SourceMessage]:
        """As `Source.take`; the time is that of `consumer.timeout.ms`."""
        if self._failure is not None:
            raise self._failure
        taken: list[SourceMessage] = []
        try:
            while len(taken) < _TAKEN_AT_ONCE:
                each = next(self._stream)
                timestamp_ms = None if each.timestamp_ms < 0 else each.timestamp_ms
                place = each.topic, each.partition, each.offset
                taken.append(
                    SourceMessage(*place, each.raw_key, each.raw_message, timestamp_ms, list(each.headers) or None)
                )
        except ConsumerTimeoutError:
            pass
        except StopIteration:
            self._failure = MirrorError(f"the source at {self._name} ended: its consumer was shut down")
        except BarnabasError as error:
            # After what was taken before it, which counts as consumed already.
            self._failure = MirrorError(f"the source at {self._name}: {error}")
        return taken

    def commit(self) -> None:
        try:
            self._connector.commit_offsets()
        except OffsetCommitError as error:
            self._notes.add(f"{self._name}: {error}")

    def close(self) -> None:
        try:
            self._connector.shutdown()
        except ApiError as error:
            self._notes.add(f"{self._name}: {error}")


def source_cluster_id(options: Mapping[str, object]) -> str | None:
    """The id of the cluster that a ZooKeeper is of; None: it has none yet, or its brokers are older than ids.

    Args:
        options: As `connector_settings` gives them.

    Raises:
        StartupError: No ZooKeeper answers.
    """

    async def ask() -> str | None:
        connect = str(options["zookeeper.connect"])
        registry = await ZooKeeperRegistry.open(zookeeper_options(connect, TABLE.read(options).security, system_dice()))
        try:
            return await cluster_id(registry)
        finally:
            await registry.close()

    return asyncio.run(ask())
