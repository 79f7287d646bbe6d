"""The pytest plugin: brokers as fixtures.

- `kafka_broker`: a new broker for each test that asks for it.
- `kafka_broker_session`: one broker for the whole session (with pytest-xdist: for each worker); tests share its topics.
- `kafka_broker_config`: Kafka settings for both, empty unless a `conftest.py` defines a fixture of that name, which
  must have session scope.
- `@pytest.mark.kafka_broker(config={...})`: settings for this test's `kafka_broker`, on top of those.

When a test fails, its report ends with what its broker logged.
"""

from collections.abc import Generator, Iterator, Mapping

import pytest

from barnabas.testing.broker import Broker, ConfigValue

_LOG_LINE_COUNT = 100
_MARKER = "kafka_broker(config): Kafka settings for the broker of the fixture kafka_broker (barnabas)"


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", _MARKER)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what the brokers of a failed test logged."""
    report = yield
    if report.failed and isinstance(item, pytest.Function):
        for name, value in item.funcargs.items():
            if isinstance(value, Broker):
                last_lines = value.log_text().splitlines()[-_LOG_LINE_COUNT:]
                report.sections.append((f"Log of {name}", "\n".join(last_lines)))
    return report


@pytest.fixture(scope="session")
def kafka_broker_config() -> Mapping[str, ConfigValue]:
    """Kafka settings for the brokers of the fixtures; define your own in `conftest.py`."""
    return {}


@pytest.fixture
def kafka_broker(request: pytest.FixtureRequest, kafka_broker_config: Mapping[str, ConfigValue]) -> Iterator[Broker]:
    """A broker of this test's own."""
    config = dict(kafka_broker_config)
    # The marker nearest to the test has the last word.
    for marker in reversed(list(request.node.iter_markers("kafka_broker"))):
        config.update(_marked_config(**marker.kwargs))
    with Broker(config=config) as broker:
        yield broker


@pytest.fixture(scope="session")
def kafka_broker_session(kafka_broker_config: Mapping[str, ConfigValue]) -> Iterator[Broker]:
    """A broker that all tests share."""
    with Broker(config=kafka_broker_config) as broker:
        yield broker


def _marked_config(*, config: Mapping[str, ConfigValue]) -> Mapping[str, ConfigValue]:
    return config
