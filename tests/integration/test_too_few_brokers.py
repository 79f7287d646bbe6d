"""One broker with Kafka's default of three replicas for the groups' topic: everybody is told, nobody waits."""

from collections.abc import Iterator
from subprocess import CompletedProcess

import pytest

from barnabas.testing import Broker
from tests import commands

# Kafka's own default, which the broker of a test does not have.
SETTINGS = {"offsets.topic.replication.factor": 3}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(config=SETTINGS) as made:
        yield made


def run(broker: Broker, *arguments: str) -> CompletedProcess[str]:
    return commands.run(*arguments, "--bootstrap-server", broker.bootstrap_servers)


def test_the_log_says_it_before_any_client_comes(broker: Broker) -> None:
    lines = [line for line in broker.log_text().splitlines() if "offsets.topic.replication.factor" in line]
    assert len(lines) == 1
    assert "WARNING consumer groups cannot work: offsets.topic.replication.factor=3" in lines[0]
    assert "set it to 1" in lines[0]


RESET = ("groups", "--reset-offsets", "--group", "g", "--topic", "t", "--to-earliest", "--execute")


@pytest.mark.parametrize("arguments", [("consume", "--topic", "t", "--group", "g", "--max-messages", "1"), RESET])
def test_our_own_tools_say_it_at_once(broker: Broker, arguments: tuple[str, ...]) -> None:
    assert run(broker, "topics", "--create", "--if-not-exists", "--topic", "t").returncode == 0
    result = run(broker, *arguments)
    assert result.returncode == 1
    assert "set the brokers' offsets.topic.replication.factor to 1, or run more of them" in result.stderr


def test_without_a_file_nothing_is_missing(kafka_broker_session: Broker) -> None:
    assert "replication.factor" not in kafka_broker_session.log_text()
