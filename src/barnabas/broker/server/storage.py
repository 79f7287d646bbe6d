"""The storage of one broker: its threads, by purpose, and the manager of its logs.

Source: design page, section 2.
"""

from collections.abc import Callable
from pathlib import Path

from barnabas.broker.log.manager import CLOSING_THREAD_COUNT, LogManager
from barnabas.broker.server.environment import Environment
from barnabas.broker.transactions.loading import coordinated_transactions
from barnabas.core.config import BrokerConfig, TopicConfig
from barnabas.core.executor import OwnedExecutor

# Concurrent disk reads for consumers that lag.
_COLD_READ_THREAD_COUNT = 4
# Each thread may process a batch that unpacks to 128 MiB; with two threads, such a batch does not delay all others.
_APPEND_THREAD_COUNT = 2
# Conversion computes, mostly in Python: with more threads the event loop waits longer, and no more batches are done.
_CONVERSION_THREAD_COUNT = 1


class Executors:
    """All executors of a broker, from its start to its end.

    Attributes:
        registry: Blocking work of the registry, in order.
        log: Log files, and all other short work; `background.threads`.
        cleaner: Runs of the log cleaner, separate because they take long; `log.cleaner.threads`.
        cold_read: Reads of bytes outside the page cache.
        append: Prepares appends of large batches.
        conversion, large_conversion: Convert batches for old clients; the latter converts large ones.
        codec: Decodes and encodes large requests, one after the other.
        closing: Closes the logs at the end.
    """

    def __init__(self, env: Environment, config: BrokerConfig) -> None:
        self._env = env
        self._config = config
        self.registry = env.new_executor("registry", 1)
        self.log = env.new_executor("log", config.background_threads)
        self.cleaner = env.new_executor("cleaner", config.log_cleaner_threads)
        self.cold_read = env.new_executor("cold-read", _COLD_READ_THREAD_COUNT)
        self.append = env.new_executor("append", _APPEND_THREAD_COUNT)
        self.conversion = env.new_executor("conversion", _CONVERSION_THREAD_COUNT)
        self.large_conversion = env.new_executor("large-conversion", _CONVERSION_THREAD_COUNT)
        self.codec = env.new_executor("codec", 1)
        self.closing = env.new_executor("closing", CLOSING_THREAD_COUNT)
        self._recovery: list[OwnedExecutor] = []

    def new_recovery(self) -> OwnedExecutor:
        """Return threads that recover the logs of one directory; `close_recovery` ends them."""
        executor = self._env.new_executor("recovery", self._config.num_recovery_threads_per_data_dir)
        self._recovery.append(executor)
        return executor

    @property
    def is_recovering(self) -> bool:
        """Return whether `new_recovery` has threads that `close_recovery` has not ended."""
        return bool(self._recovery)

    def close_recovery(self) -> None:
        """End the recovery threads, because all logs are loaded or the start failed."""
        while self._recovery:
            self._recovery.pop().close()

    def close(self) -> None:
        """End all threads after their submitted work is finished."""
        for executor in (
            *(self.registry, self.log, self.cleaner, self.cold_read),
            *(self.append, self.conversion, self.large_conversion, self.codec, self.closing),
        ):
            executor.close()
        self.close_recovery()


def build_logs(
    *,
    env: Environment,
    config: BrokerConfig,
    executors: Executors,
    topic_config: Callable[[str], TopicConfig],
    on_failure: Callable[[BaseException], object],
    on_loop: Callable[[str], object],
) -> LogManager:
    """Build the log manager; it opens no directory before `lock`."""
    return LogManager(
        config,
        env.clock,
        env.timers,
        executors.log,
        lambda topic_partition: topic_config(topic_partition.topic),
        on_failure,
        files=env.files,
        recovery_executor=executors.new_recovery,
        cleaner_executor=executors.cleaner,
        closing_executor=executors.closing,
        dice=env.dice,
        new_stop_signal=env.new_stop_signal,
        on_loop=on_loop,
        read_coordinated=coordinated_transactions,
        registry_directory=None if config.zookeeper_connect else Path(config.log_dirs[0]),
    )
