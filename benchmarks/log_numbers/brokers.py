"""The two brokers, each on its own directory, which is kept over restarts."""

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from barnabas.testing import Broker
from benchmarks.log_numbers.wire import wait_until_led
from tools.kafka.server import KafkaServer

# A killed broker cannot restart before its session (6 s) and with it its registration in ZooKeeper ends.
_SESSION_S = 8


class Measured(Protocol):
    """A broker that is stopped, killed and restarted on its data."""

    directory: Path

    @property
    def address(self) -> str: ...
    @property
    def pid(self) -> int: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def kill(self) -> None: ...
    def start_and_serve_s(self, topics: dict[str, int]) -> float:
        """Start, and return the seconds until every partition of the topics is served."""
        ...

    def close(self) -> None: ...


class MeasuredBarnabas:
    """Barnabas as a process."""

    def __init__(self, place: Path | None, config: dict[str, str]) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="barnabas-log-", dir=place))
        self._broker = Broker(config=config, data_dir=self.directory / "data", start_timeout_s=300)

    @property
    def address(self) -> str:
        return self._broker.bootstrap_servers

    @property
    def pid(self) -> int:
        return self._broker.pid

    def stalls_of_late_ms(self) -> tuple[int, int]:
        """Return the longest stall of its loop since the last call: of any cause, and caused by computation."""
        return self._broker.stalls_of_late_ms()

    def start(self) -> None:
        self._broker.start()

    def stop(self) -> None:
        self._broker.stop()

    def kill(self) -> None:
        self._broker.kill()

    def start_and_serve_s(self, topics: dict[str, int]) -> float:
        start = time.perf_counter()
        self._broker.start()
        wait_until_led(self.address, topics, lambda: not self._broker.is_running)
        return time.perf_counter() - start

    def close(self) -> None:
        self._broker.close()
        shutil.rmtree(self.directory, ignore_errors=True)


class MeasuredKafka:
    """Kafka 2.7.2; its ZooKeeper runs throughout."""

    def __init__(self, place: Path | None, config: dict[str, str]) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="kafka-log-", dir=place))
        self._server = KafkaServer(self.directory, config)

    @property
    def address(self) -> str:
        return self._server.bootstrap_servers

    @property
    def pid(self) -> int:
        return self._server.pid

    def start(self) -> None:
        self._server.start()

    def stop(self) -> None:
        self._server.stop()

    def kill(self) -> None:
        self._server.kill()
        time.sleep(_SESSION_S)

    def start_and_serve_s(self, topics: dict[str, int]) -> float:
        start = time.perf_counter()
        self._server.start_broker()
        wait_until_led(self.address, topics, self._server.has_ended)
        return time.perf_counter() - start

    def close(self) -> None:
        self._server.close()
        shutil.rmtree(self.directory, ignore_errors=True)


BROKERS: dict[str, Callable[[Path | None, dict[str, str]], Measured]] = {
    "kafka": MeasuredKafka,
    "barnabas": MeasuredBarnabas,
}
