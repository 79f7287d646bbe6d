"""Records the traffic history of a broker's clients: each second in memory, each minute in a file.

    <first of log.dirs>/quota-history     format: `broker/quotas/history_file.py`

An executor reads the file before the first client connects, and writes it. A killed broker loses the traffic since the
last write. A failed write is logged once and changes nothing else: no client waits for it. Without traffic nothing is
written.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from barnabas.broker.log.disk.files import FileSystem
from barnabas.broker.quotas import history_file
from barnabas.broker.quotas.history import Counted, History, Recorded
from barnabas.broker.requests.services import Services
from barnabas.broker.server.environment import Environment
from barnabas.core.clock import Clock
from barnabas.core.config import BrokerConfig
from barnabas.core.errors import StorageError
from barnabas.core.executor import Executor, submit
from barnabas.core.timers import Timer, Timers

log = logging.getLogger(__name__)

_WRITE_EVERY_S = 60
# A client takes some microseconds, and there may be twenty thousand.
_CLIENTS_AT_ONCE = 1_000
# Shortly after the end of a second, so that the whole second is collected.
_AFTER_SECOND_MS = 5


class QuotaHistory:
    """The shell around `History`.

    Attributes:
        history: The recorded use.
    """

    def __init__(
        self,
        directory: Path,
        files: FileSystem,
        clock: Clock,
        timers: Timers,
        executor: Executor,
        clients: Mapping[tuple[str, str], Counted],
    ) -> None:
        """Args:
        directory: The directory of the file.
        executor: Reads and writes the file.
        clients: The counted clients, a live mapping.
        """
        self.history = History()
        self._path = directory / history_file.NAME
        self._files = files
        self._clock = clock
        self._timers = timers
        self._executor = executor
        self._clients = clients
        self._timer: Timer | None = None
        self._collecting: Iterator[None] | None = None
        self._last_write_s = 0
        self._written_use = -1
        self._is_writing = False
        self._is_failing = False

    async def start(self) -> None:
        """Restore the history of an earlier run, and begin to collect."""
        try:
            found = await submit(self._executor, self._read).future()
            if found is not None:
                self.history.restore(*found)
        except (ValueError, StorageError) as error:
            log.warning("%s ignored, so `barnabas quotas` starts without history: %s", self._path, error)
        self._last_write_s = self._clock.now_ms() // 1_000
        self._collect_later()

    async def close(self) -> None:
        """Write the remaining history."""
        if self._timer is None:
            return
        self._timer.cancel()
        self._timer = None
        for _ in self._collecting or ():
            pass
        self.history.collect(self._clock.now_ms(), self._clients.values())
        if self.history.last_use == self._written_use:
            return
        try:
            await submit(self._executor, self._writing()).future()
        except StorageError as error:
            self._failed(error)

    def _read(self) -> tuple[int, list[Recorded]] | None:
        data = self._files.read(self._path)
        return None if data is None else history_file.decode(data)

    def _collect_later(self) -> None:
        delay_ms = 1_000 - self._clock.now_ms() % 1_000 + _AFTER_SECOND_MS
        self._timer = self._timers.call_later(delay_ms, self._second_over)

    def _second_over(self) -> None:
        self._collecting = self.history.collecting(self._clock.now_ms(), list(self._clients.values()), _CLIENTS_AT_ONCE)
        self._go_on()

    def _go_on(self) -> None:
        """Collect some clients; the event loop runs other work in between."""
        for _ in self._collecting or ():
            self._timer = self._timers.call_later(0, self._go_on)
            return
        self._collecting = None
        self._collect_later()
        # Both may be later than now, if the clock was ahead.
        is_new = self.history.last_use != self._written_use
        is_due = abs(self.history.second - self._last_write_s) >= _WRITE_EVERY_S
        if is_new and is_due and not self._is_writing:
            self._last_write_s = self.history.second
            self._is_writing = True
            self._executor.run(self._writing(), self._written, self._failed)

    def _writing(self) -> Callable[[], None]:
        """Return a function that writes the history as it is now."""
        second, recorded = self.history.second, self.history.recorded()
        self._written_use = self.history.last_use

        def write() -> None:
            self._files.replace(self._path, history_file.encode(second, recorded), is_synced=False)

        return write

    def _written(self, _: None) -> None:
        self._is_writing = self._is_failing = False

    def _failed(self, error: BaseException) -> None:
        self._is_writing = False
        if not self._is_failing:
            self._is_failing = True
            log.warning("cannot write %s: %s", self._path, error)


async def start_quota_history(
    config: BrokerConfig, env: Environment, executor: Executor, services: Services
) -> QuotaHistory:
    """Start the history of a broker's clients and publish it to handlers; the caller closes it."""
    directory = Path(config.log_dirs[0])
    shell = QuotaHistory(directory, env.files, env.clock, env.timers, executor, services.quotas.clients)
    await shell.start()
    services.quota_history = shell.history
    return shell
