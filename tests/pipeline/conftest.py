"""What tests of the pipeline share: a broker, a Spark session, and a run of a job between them.

`BARNABAS_COMPAT_TARGET=kafka` runs the same tests against Kafka 2.7.2.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.compat.conftest import StartBroker, cluster, name, start_broker
from tests.pipeline.site import Site
from tests.spark import forgotten_sockets, shared_session

__all__ = ["StartBroker", "cluster", "forgotten_sockets", "name", "start_broker"]


@pytest.fixture
def site(cluster, name: str, tmp_path: Path) -> Iterator[Site]:
    """A place to run jobs at: the shared broker, topics of the test's own, its own directory."""
    with Site(shared_session(), lambda: cluster.bootstrap_servers, name, tmp_path) as site:
        yield site


@pytest.fixture
def site_of(name: str, tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """Makes such a place at a broker of the test's own."""
    made: list[Site] = []

    def make(broker) -> Site:
        made.append(Site(shared_session(), lambda: broker.bootstrap_servers, name, tmp_path))
        return made[-1]

    yield make
    for each in made:
        each.close()
