"""The broker under test and the clients that test it.

`BARNABAS_COMPAT_TARGET=kafka` runs the same tests against Kafka 2.7.2: a test that fails there tests the wrong thing.
"""

import gc
import os
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

from tests.compat.clients import FACTORIES, Client
from tests.compat.figures import PROPERTY, Row, Tell
from tools.kafka.server import ONE_BROKER, QuickKafkaServer
from tools.kafka.zookeeper import ZooKeeper

if TYPE_CHECKING:
    from tests.compat.commands import Commands

TARGET = os.environ.get("BARNABAS_COMPAT_TARGET", "barnabas")


class RunningBroker(Protocol):
    """What the tests use of `barnabas.testing.Broker` and of `KafkaServer`."""

    @property
    def bootstrap_servers(self) -> str: ...

    @property
    def data_dir(self) -> Path: ...

    def stop(self) -> None: ...

    def kill(self) -> None: ...

    def restart(self) -> None: ...


StartBroker = Callable[..., RunningBroker]


def started(config: Mapping[str, str]) -> AbstractContextManager[RunningBroker]:
    """Return a broker of ours or of Kafka, as `TARGET` says, which runs while it is entered."""
    if TARGET == "kafka":
        return QuickKafkaServer(config=config)
    from barnabas.testing import Broker

    return Broker(config={**ONE_BROKER, **config})


@pytest.fixture(scope="session")
def cluster() -> Iterator[RunningBroker]:
    """The broker that tests share; each uses topics and groups of its own."""
    with started({}) as broker:
        yield broker


@pytest.fixture
def start_broker() -> Iterator[StartBroker]:
    """Start a broker of the test's own, which it may stop and kill: `start_broker(**{"log.segment.bytes": "4096"})`."""
    with ExitStack() as stack:
        yield lambda **config: stack.enter_context(started(config))


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeper]:
    """The ZooKeeper that tests share; each uses a tree of its own."""
    with ZooKeeper(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server


@pytest.fixture
def connect(zookeeper: ZooKeeper, name: str) -> str:
    """A tree of the test's own, which is not there yet."""
    return f"{zookeeper.connect}/{name}"


@pytest.fixture(scope="session")
def clients(cluster: RunningBroker) -> Iterator[Callable[[str], Client]]:
    """Every client of the shared broker by name, made once."""
    made: dict[str, Client] = {}

    def client_of(name: str) -> Client:
        if name not in made:
            made[name] = FACTORIES[name](cluster.bootstrap_servers)
        return made[name]

    yield client_of
    for client in made.values():
        client.close()


@pytest.fixture(autouse=True, scope="module")
def sockets_that_clients_forget() -> Iterator[None]:
    """Collect the sockets that client libraries forget, once for a file: they are not held against a later one."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(params=list(FACTORIES))
def client(request: pytest.FixtureRequest, clients: Callable[[str], Client]) -> Client:
    """Each of the clients in turn."""
    return clients(request.param)


@pytest.fixture
def java(clients: Callable[[str], Client]) -> Client:
    """Kafka 2.7.2's own client: what it can read is right."""
    return clients("java-2.7.2")


@pytest.fixture
def commands(cluster: RunningBroker) -> "Commands":
    """Our own command line, against the shared broker."""
    from tests.compat.commands import Commands

    return Commands(cluster.bootstrap_servers)


@pytest.fixture
def name() -> str:
    """A name that no other test uses, for a topic or a group."""
    return f"t-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def tell(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> Tell:
    """Note what a broker showed; tests/conftest.py prints all of it as a table at the end of the run."""
    story = request.node.name.removeprefix("test_")

    def tell(who: str, records: Mapping[str, Sequence[int]], committed: Mapping[str, int]) -> None:
        ends = {topic: max(offsets, default=-1) + 1 for topic, offsets in records.items()}
        count = sum(map(len, records.values()))
        # As plain values: a report may come from another process.
        record_property(PROPERTY, tuple(Row(story, who, len(records), count, ends, dict(committed))))

    return tell
