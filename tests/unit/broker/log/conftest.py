"""A log on a faulty disk under a manual clock."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.log.disk.files import FileSystem
from barnabas.broker.log.environment import LogEnvironment
from barnabas.broker.log.manager import LogManager
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.startup.recovery import open_log
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.executor import Executor, InlineExecutor
from barnabas.core.types import TopicPartition
from barnabas.testing.faulty_disk import FaultyDisk
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.records.builder import BatchBuilder

TOPIC_PARTITION = TopicPartition("t", 0)

OpenLog = Callable[..., PartitionLog]
MakeBatch = Callable[..., memoryview]


@pytest.fixture
def failures() -> list[BaseException]:
    return []


@pytest.fixture
def env(clock: ManualClock, disk: FaultyDisk, failures: list[BaseException]) -> LogEnvironment:
    return LogEnvironment(clock, clock, InlineExecutor(), disk, on_failure=failures.append)


@pytest.fixture
def topic_config() -> Callable[..., TopicConfig]:
    broker = BrokerConfig.from_properties({}, None, "test")

    def make(**overrides: object) -> TopicConfig:
        named = {name.replace("_", "."): str(value) for name, value in overrides.items()}
        return TopicConfig.from_broker(broker).with_overrides(named)

    return make


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / str(TOPIC_PARTITION)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def make_manager(
    root: Path, clock: ManualClock, disk: FaultyDisk, failures: list[BaseException]
) -> Callable[..., LogManager]:
    """Makes a manager of the logs in a directory, with settings of the broker; not started."""

    def make(
        settings: dict[str, str] | None = None,
        executor: Executor = InlineExecutor(),  # noqa: B008
        files: FileSystem = disk,
        **options: Any,
    ) -> LogManager:
        config = BrokerConfig.from_properties({"log.dirs": str(root), **(settings or {})}, None, "test")
        topic_config = TopicConfig.from_broker(config)
        return LogManager(
            config, clock, clock, executor, lambda _: topic_config, failures.append, files=files, **options
        )

    return make


async def loaded(manager: LogManager) -> None:
    await manager.lock()
    await manager.load("abc", 1)


def started(manager: LogManager, high_watermarks: Callable[[], Any] = dict) -> LogManager:
    """The manager, with the logs that are there."""
    asyncio.run(loaded(manager))
    manager.watch_high_watermarks(high_watermarks)
    return manager


@pytest.fixture
def open_partition_log(env: LogEnvironment, directory: Path, topic_config: Callable[..., TopicConfig]) -> OpenLog:
    def opened(
        *, was_clean: bool = False, recovery_point: int = 0, log_start_offset: int = 0, **overrides: object
    ) -> PartitionLog:
        return open_log(
            env,
            TOPIC_PARTITION,
            directory,
            topic_config(**overrides),
            was_clean=was_clean,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
        )

    return opened


@pytest.fixture
def make_batch(clock: ManualClock) -> MakeBatch:
    def make(
        count: int = 1,
        value: bytes = b"value",
        *,
        timestamp_ms: int | None = None,
        key: bytes | None = b"key",
        **producer: Any,
    ) -> memoryview:
        builder = BatchBuilder(**producer)
        for index in range(count):
            builder.append((clock.now_ms() if timestamp_ms is None else timestamp_ms) + index, key, value)
        return memoryview(builder.build())

    return make


@pytest.fixture
def log(open_partition_log: OpenLog) -> PartitionLog:
    return open_partition_log()
