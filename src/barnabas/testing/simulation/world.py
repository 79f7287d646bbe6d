"""The simulated world: one seed, one loop, one network, and hosts with a clock and disks each.

    Simulation ─► BrokerHost (clock, disks, registry; survives the process) ─► Node
               ─► Ensemble (the registry of a cluster of several)
               ─► client environments

All randomness comes from the seed. Events are recorded in `history`, line by line; the same seed gives the same lines.
"""

import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar, copy_context
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from barnabas.broker.log.disk.files import RecordFile
from barnabas.broker.metrics.pages import NOT_FOUND, Answer, Pages, refusal
from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.broker.registry.tree import Stage, Tree, Znode
from barnabas.broker.server.environment import Environment
from barnabas.broker.server.node import Node
from barnabas.broker.server.watchdog import NO_CORE_USE, CoreUse
from barnabas.clients.environment import ClientEnvironment
from barnabas.clients.zookeeper.options import ZooKeeperOptions
from barnabas.core.clock import Clock
from barnabas.core.config import BrokerConfig
from barnabas.core.executor import Executor
from barnabas.core.pending import Pending
from barnabas.core.timers import LoopTimers
from barnabas.testing.simulation.clocks import VirtualClock
from barnabas.testing.simulation.disk import MemoryDisk
from barnabas.testing.simulation.ensemble import Ensemble
from barnabas.testing.simulation.ensemble_session import EnsembleSession
from barnabas.testing.simulation.loop import CURRENT_PROCESS, Process, VirtualLoop
from barnabas.testing.simulation.network import MemoryNetwork

T = TypeVar("T")

DATA = Path("/data")
PORT = 9092

# Whether the current code runs in an executor's thread; otherwise it runs on the event loop.
IS_IN_EXECUTOR: ContextVar[bool] = ContextVar("IS_IN_EXECUTOR", default=False)


class VirtualExecutor:
    """Simulated threads; see `OwnedExecutor`.

    Work runs in one step, some time after its start, and the result is delivered some time later. So a process may die
    before, between and after these steps.
    """

    def __init__(self, loop: VirtualLoop, delay_us: Callable[[], int], thread_count: int) -> None:
        self._loop = loop
        self._delay_us = delay_us
        self._thread_count = self._idle_count = thread_count
        self._waiting: list[Callable[[], object]] = []
        self._running: dict[int, Callable[[], object]] = {}
        self._count = 0
        self._is_closed = False

    def run(
        self, work: Callable[[], T], then: Callable[[T], object], failed: Callable[[BaseException], object]
    ) -> None:
        context = copy_context()
        self._count += 1
        number = self._count

        def tell(callback: Callable[[Any], object], outcome: object) -> None:
            if not self._is_closed:
                self._idle_count += 1
                self._begin_next()
            callback(outcome)

        def do() -> None:
            if self._running.pop(number, None) is None:
                return
            token = IS_IN_EXECUTOR.set(True)
            try:
                result = work()
            except Exception as error:
                self._plan(tell, failed, error, context=context)
            else:
                self._plan(tell, then, result, context=context)
            finally:
                IS_IN_EXECUTOR.reset(token)

        def begin() -> None:
            self._running[number] = do
            self._plan(do, context=context)

        self._waiting.append(begin)
        self._begin_next()

    def _plan(self, callback: Callable[..., object], *args: object, context: Any) -> None:
        self._loop.call_at((self._loop.now_us + self._delay_us()) / 1_000_000, callback, *args, context=context)

    def _begin_next(self) -> None:
        # The idle count is negative while more threads run than `resize` allows.
        if self._idle_count > 0 and self._waiting:
            self._idle_count -= 1
            self._waiting.pop(0)()

    def resize(self, thread_count: int) -> None:
        self._idle_count += thread_count - self._thread_count
        self._thread_count = thread_count
        for _ in range(self._idle_count):
            self._begin_next()

    def close(self) -> None:
        self._is_closed = True
        self._waiting.clear()
        for do in list(self._running.values()):
            do()


class VirtualStopSignal:
    """A stop signal without waiting, because work runs in one step; see `StopSignal`."""

    def __init__(self) -> None:
        self._is_set = False

    def set(self) -> None:
        self._is_set = True

    def is_set(self) -> bool:
        return self._is_set

    def wait(self, timeout: float) -> bool:
        return self._is_set


class RollingPageCache:
    """A page cache with random content and recently read data. See `PageCache`."""

    def __init__(self, dice: Random, miss: float) -> None:
        self._dice = dice
        self._miss = miss
        self._was_missed = False

    def holds(self, file: RecordFile, position: int, length: int) -> bool:
        self._was_missed = not self._was_missed and self._dice.random() < self._miss
        return not self._was_missed

    def take(self, file: RecordFile, position: int, length: int) -> bytes | bytearray | None:
        return file.read(position, length) if self.holds(file, position, length) else None

    def check_read(self, file: RecordFile, position: int, length: int) -> None:
        return


class MemoryRegistry:
    """A registry whose committed data survives the end of the process and a power cut. See `RegistryOpener`.

    Attributes:
        session: The session of the broker that runs, or ran last.
    """

    def __init__(self) -> None:
        self.session: EmbeddedRegistry | None = None
        self._nodes: dict[str, Znode] = {}
        self._zxid = 0
        self._is_kept = False

    def holds(self, path: Path) -> bool:
        return self._is_kept

    async def open(self, path: Path, clock: Clock, executor: Executor, keeps_sessions: bool) -> EmbeddedRegistry:
        self._is_kept = True
        self.session = EmbeddedRegistry(Tree(dict(self._nodes), self._zxid), self, clock, executor)
        return self.session

    def commit(self, stage: Stage, own_session_id: int) -> None:
        for path, node in stage.changes.items():
            if node is None:
                self._nodes.pop(path, None)
            elif not node.ephemeral_owner:
                self._nodes[path] = node
        self._zxid = stage.zxid

    def close(self) -> None:
        return


class UnlimitedMachine:
    """A machine without limits; see `Limits`."""

    def highest_connection_descriptor(self) -> int:
        return -1

    def most_partitions(self) -> int:
        return 1 << 31

    def receive_memory_bytes(self, configured_bytes: int) -> int:
        return configured_bytes if configured_bytes > 0 else 1 << 28

    def core_use(self) -> CoreUse:
        return NO_CORE_USE

    def close(self) -> None:
        return


class MemoryHttp:
    """An HTTP server for callers in the simulation; see `HttpEndpoint`."""

    def __init__(self) -> None:
        self.addresses: list[tuple[str, int]] = []
        self._pages: Pages | None = None

    def open(self, addresses: Sequence[tuple[str, int]], pages: Pages) -> "MemoryHttp":
        self.addresses, self._pages = list(addresses), pages
        return self

    def process(self) -> Mapping[str, float]:
        return {}

    def close(self) -> None:
        self._pages = None

    async def get(self, path: str) -> Answer:
        """Request a page like an HTTP client, in the broker's own process."""
        page = None if self._pages is None else self._pages.find(path)
        if page is None:
            return refusal(NOT_FOUND, "the page does not exist")
        found = page.ask()
        return page.write(await found.future() if isinstance(found, Pending) else found)


class BrokerHost:
    """A machine with a disk, on which a broker is started, stopped and killed.

    Attributes:
        name: Its address.
        clock: Its time.
        disk: Its disk, which survives the process; a power cut loses unsynced data.
        registry: The broker's embedded registry, used without an ensemble.
        ensemble: The ensemble with the cluster's state; None: the embedded registry.
        session: With an ensemble: the session of the broker that runs, or ran last.
        node: The broker that runs, or ran last.
        http: HTTP requests to its broker.
        slowness: Factor by which its disk is slower than usual.
        miss: Probability that the page cache does not contain the data of a read.
        is_stopping: Whether the broker was asked to stop, or stops because its disk failed.
    """

    def __init__(
        self, simulation: "Simulation", name: str, settings: Mapping[str, str], ensemble: Ensemble | None = None
    ) -> None:
        self.name = name
        self.slowness = 1
        self.miss = 0.05
        self.is_stopping = False
        self._simulation = simulation
        self._settings = dict(settings)
        self.clock = VirtualClock(simulation.loop)
        self.disk = MemoryDisk(self.clock.now_ms, simulation.note)
        self.registry = MemoryRegistry()
        self.ensemble = ensemble
        self.session: EnsembleSession | None = None
        self.node: Node | None = None
        self.http = MemoryHttp()
        self._process: Process | None = None
        self._start_count = 0
        self._graves: list[Process] = []
        self._stop: Callable[[str], object] = lambda reason: None

    @property
    def is_up(self) -> bool:
        """Return whether a broker runs."""
        return self._process is not None

    @property
    def process_name(self) -> str:
        """Return the name of the broker's process, a new one after each start; empty: none runs."""
        return "" if self._process is None else self._process.name

    @property
    def is_standing(self) -> bool:
        """Return whether the broker is paused."""
        return self._process is not None and self._process.is_standing

    async def _open_zookeeper(self, options: ZooKeeperOptions) -> EnsembleSession:
        assert self.ensemble is not None
        self.session = await EnsembleSession.open(self.ensemble, self.name, options, self._simulation.new_dice())
        return self.session

    def _environment(self) -> Environment:
        simulation = self._simulation
        loop = simulation.loop
        return Environment(
            loop,
            self.clock,
            LoopTimers(loop),
            simulation.new_dice(),
            lambda name, thread_count: VirtualExecutor(loop, self._work_us, thread_count),
            VirtualStopSignal,
            self.disk,
            RollingPageCache(simulation.new_dice(), self.miss),
            simulation.network.host(self.name),
            self.registry,
            UnlimitedMachine(),
            self.http,
            self._open_zookeeper,
        )

    def _work_us(self) -> int:
        return self._simulation.dice.randint(10, 2_000) * self.slowness

    def start(self) -> None:
        """Begin to start a broker; clients can connect when it listens."""
        simulation = self._simulation
        self._start_count += 1
        simulation.network.power_on(self.name)
        self.is_stopping = False
        process = self._process = Process(f"{self.name}#{self._start_count}")
        simulation.note(f"start {process.name}")
        copy_context().run(self._begin, process)

    def _begin(self, process: Process) -> None:
        CURRENT_PROCESS.set(process)
        self._simulation.loop.create_task(self._live(process))

    async def _live(self, process: Process) -> None:
        loop = self._simulation.loop
        stopping = loop.create_future()

        def stop(reason: str) -> None:
            if not stopping.done():
                stopping.set_result(reason)

        self._stop = stop
        settings = {
            "listeners": f"PLAINTEXT://{self.name}:{PORT}",
            "log.dirs": str(DATA),
            "broker.id": "0",
            **self._settings,
        }
        if self.ensemble is None:
            config = BrokerConfig.single_broker(settings)
        else:
            config = BrokerConfig.from_properties({"zookeeper.connect": self.ensemble.connect, **settings})
        node = self.node = Node(self._environment(), config, stop)
        try:
            await node.start()
            self._simulation.note(f"up {process.name}")
            reason = await stopping
            self.is_stopping = True
            self._simulation.note(f"stopping {process.name}: {reason}")
            await node.stop()
        except Exception as error:
            self._simulation.note(f"failed {process.name}: {error}")
        # Otherwise `close` ends the task, long after the process died.
        if process.is_alive:
            self._bury("end")

    def stop(self) -> None:
        """Stop the broker (SIGTERM)."""
        self._stop("SIGTERM")

    def kill(self) -> None:
        """Kill the broker (kill -9)."""
        if self._process is not None:
            self._bury("kill")

    def stand_still(self) -> None:
        """Pause the process (SIGSTOP): its code does not run, and data sent to it waits."""
        if self._process is not None:
            self._simulation.note(f"stands still {self._process.name}")
            self._process.is_standing = True

    def go_on(self) -> None:
        """Resume the process (SIGCONT): overdue work runs now."""
        if self._process is not None and self._process.is_standing:
            self._simulation.note(f"goes on {self._process.name}")
            self._simulation.loop.go_on(self._process)

    def replace_disks(self) -> None:
        """Replace the disks by empty ones, while no broker runs."""
        assert self._process is None
        self._simulation.note(f"empty disks {self.name}")
        self.disk = MemoryDisk(self.clock.now_ms, self._simulation.note)

    def _bury(self, how: str) -> None:
        process = self._process
        assert process is not None
        self._process = None
        process.is_alive = False
        self._graves.append(process)
        self._simulation.note(f"{how} {process.name}")
        self.disk.kill()
        self._simulation.network.kill(self.name)

    def cut_power(self, dice: Random | None = None) -> None:
        """Lose data that is not durable, and the network without notice.

        Args:
            dice: Random numbers that decide which data survives; None: the simulation's.
        """
        simulation = self._simulation
        process, self._process = self._process, None
        simulation.note(f"power {self.name}")
        if process is not None:
            process.is_alive = False
            self._graves.append(process)
        simulation.network.cut_power(self.name)
        self.disk.cut_power(dice or simulation.new_dice())

    def close(self) -> None:
        """Release resources of dead processes."""
        for process in [*self._graves, *([self._process] if self._process else [])]:
            process.is_alive = False
            for task in list(process.tasks):
                # The task never ends; asyncio must not report this.
                task._log_destroy_pending = False  # type: ignore[attr-defined]
                # Run its cleanup now, where it fails without a loop. Otherwise it would run when the task is
                # garbage-collected, possibly during another simulation.
                with suppress(Exception):
                    task.get_coro().close()
            process.tasks.clear()


class _Log(logging.Handler):
    """Records warnings of brokers and clients."""

    def __init__(self, note: Callable[[str], object], errors: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._note = note
        self._errors = errors

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info is not None and record.exc_info[1] is not None:
            text += f": {record.exc_info[1]!r}"
        self._note(f"{record.levelname.lower()} {text}")
        if record.levelno >= logging.ERROR:
            self._errors.append(text)


class Simulation:
    """One simulated world, determined by its seed.

    Attributes:
        seed: The seed of all random numbers.
        loop, clock, network: The shared loop, clock and network.
        dice: Random numbers for events; parts of the world have their own.
        history: The recorded events, line by line.
        errors: Log records with level ERROR or above.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        # Methods of asyncio that are not used here are left out.
        self.loop = VirtualLoop()  # type: ignore[abstract]
        self.clock = VirtualClock(self.loop)
        self.dice = Random(seed)
        self.history: list[str] = []
        self.errors: list[str] = []
        self.network = MemoryNetwork(self.loop, self.new_dice(), self.note)
        self.hosts: dict[str, BrokerHost] = {}
        self._handler = _Log(self.note, self.errors)

    def new_dice(self) -> Random:
        """Return a separate source of random numbers for a part of the world."""
        return Random(self.dice.getrandbits(64))

    def note(self, text: str) -> None:
        self.history.append(f"{self.loop.now_us:>10} {text}")

    def add_broker(self, name: str, settings: Mapping[str, str], ensemble: Ensemble | None = None) -> BrokerHost:
        """Add a machine for a broker, which is not started yet.

        Args:
            ensemble: The ensemble with its cluster's state; None: the broker is a cluster of its own.
        """
        host = self.hosts[name] = BrokerHost(self, name, settings, ensemble)
        return host

    def add_ensemble(self, server_count: int = 3) -> Ensemble:
        """Add a ZooKeeper ensemble for a cluster."""
        return Ensemble(self.network, self.clock, self.new_dice(), self.note, server_count)

    def client(self, name: str) -> ClientEnvironment:
        """Return the environment of a client on a machine of its own."""
        return ClientEnvironment(self.clock, self.new_dice(), self.network.host(name).dial)

    def run(self, story: Coroutine[Any, Any, T]) -> T:
        """Advance time until a coroutine is done."""
        logger = logging.getLogger("barnabas")
        logger.addHandler(self._handler)
        propagates, logger.propagate = logger.propagate, False
        try:
            result: T = self.loop.run_until_complete(story)
            return result
        finally:
            logger.removeHandler(self._handler)
            silent = logging.NullHandler()
            logger.addHandler(silent)
            self.loop.close()
            for host in self.hosts.values():
                host.close()
            logger.removeHandler(silent)
            logger.propagate = propagates
