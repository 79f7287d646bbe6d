"""The pytest plugin: brokers as fixtures.

- `kafka_broker`: a new broker for each test that requests it.
- `kafka_broker_session`: one broker for the whole session (with pytest-xdist: for each worker); tests share its topics.
- `kafka_cluster`: a cluster of three brokers for each test that requests it.
- `kafka_broker_config`: Kafka settings for all of them, empty unless a `conftest.py` defines a fixture of that name,
  which must have session scope.
- `@pytest.mark.kafka_broker(config={...})`: settings for this test's `kafka_broker` or `kafka_cluster`, on top of
  those.

The report of a failed test ends with its brokers' logs.
"""

from collections.abc import Generator, Iterator, Mapping

import pytest

from barnabas.testing.broker import Broker, ConfigValue
from barnabas.testing.cluster import Cluster

_LOG_LINE_COUNT = 100
_MARKER = "kafka_broker(config): Kafka settings for the brokers of kafka_broker and kafka_cluster (barnabas)"


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", _MARKER)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the logs of a failed test's brokers to its report."""
    report = yield
    if report.failed and isinstance(item, pytest.Function):
        for name, value in item.funcargs.items():
            servers = {name: value}
            if isinstance(value, Cluster):
                servers = {f"{name}, broker {broker_id}": each for broker_id, each in value.brokers.items()}
            for title, server in servers.items():
                if isinstance(server, Broker):
                    last_lines = server.log_text().splitlines()[-_LOG_LINE_COUNT:]
                    report.sections.append((f"Log of {title}", "\n".join(last_lines)))
    return report


@pytest.fixture(scope="session")
def kafka_broker_config() -> Mapping[str, ConfigValue]:
    """Return Kafka settings for the brokers of the fixtures; define your own in `conftest.py`."""
    return {}


@pytest.fixture
def kafka_broker(request: pytest.FixtureRequest, kafka_broker_config: Mapping[str, ConfigValue]) -> Iterator[Broker]:
    """Start a broker for this test alone."""
    with Broker(config=_config_of(request, kafka_broker_config)) as broker:
        yield broker


@pytest.fixture
def kafka_cluster(request: pytest.FixtureRequest, kafka_broker_config: Mapping[str, ConfigValue]) -> Iterator[Cluster]:
    """Start a cluster of three brokers for this test alone."""
    with Cluster(config=_config_of(request, kafka_broker_config)) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kafka_broker_session(kafka_broker_config: Mapping[str, ConfigValue]) -> Iterator[Broker]:
    """Start a broker that all tests share."""
    with Broker(config=kafka_broker_config) as broker:
        yield broker


def _config_of(request: pytest.FixtureRequest, config: Mapping[str, ConfigValue]) -> Mapping[str, ConfigValue]:
    """Return the settings for a test's own brokers."""
    merged = dict(config)
    # The marker nearest to the test wins.
    for marker in reversed(list(request.node.iter_markers("kafka_broker"))):
        merged.update(_marked_config(**marker.kwargs))
    return merged


def _marked_config(*, config: Mapping[str, ConfigValue]) -> Mapping[str, ConfigValue]:
    return config
