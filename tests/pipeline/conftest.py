"""What tests of the pipeline share: a broker, a Spark session, and a run of a job between them.

`BARNABAS_COMPAT_TARGET=kafka` runs the same tests against Kafka 2.7.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.compat.conftest import RunningBroker, StartBroker, cluster, name, start_broker
from tests.pipeline.site import Site
from tests.spark import forgets_sockets, forgotten_sockets, shared_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["StartBroker", "cluster", "forgotten_sockets", "name", "start_broker"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let every test here forget sockets; the items are those of all folders."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(forgets_sockets)


@pytest.fixture(scope="session")
def spark() -> SparkSession:
    """The session that all tests share."""
    return shared_session()


@pytest.fixture
def site(cluster: RunningBroker, name: str, tmp_path: Path) -> Iterator[Site]:
    """A place to run jobs at: the shared broker, topics of the test's own, its own directory."""
    with Site(shared_session(), lambda: cluster.bootstrap_servers, name, tmp_path) as site:
        yield site


@pytest.fixture
def site_of(name: str, tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """Makes such a place at a broker of the test's own."""
    made: list[Site] = []

    def make(broker: RunningBroker) -> Site:
        made.append(Site(shared_session(), lambda: broker.bootstrap_servers, name, tmp_path))
        return made[-1]

    yield make
    for each in made:
        each.close()
