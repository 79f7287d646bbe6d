"""Kafka 2.7.2's kafka-configs gives users SCRAM credentials, shows them and takes them away; they log in by them."""

from collections.abc import Callable, Iterator

import pytest

from tests.compat.sasl_broker import SaslBroker, sasl_broker
from tests.patience import until
from tools.kafka.java import run_tool

CONFIGS = "kafka.admin.ConfigCommand"


@pytest.fixture(scope="module")
def broker() -> Iterator[SaslBroker]:
    with sasl_broker() as running:
        yield running


@pytest.fixture(params=["--bootstrap-server", "--zookeeper"])
def configs(request: pytest.FixtureRequest, broker: SaslBroker, name: str) -> Callable[..., str]:
    """The tool for one user, by each of its two ways."""
    where = (request.param, broker.plaintext if request.param == "--bootstrap-server" else broker.zookeeper)

    def run(*arguments: str) -> str:
        done = run_tool(CONFIGS, *where, "--entity-type", "users", "--entity-name", name, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_credentials_come_and_go(broker: SaslBroker, configs: Callable[..., str], name: str) -> None:
    both = "SCRAM-SHA-256=[iterations=8192,password=one],SCRAM-SHA-512=[password=two]"
    assert "Completed updating config for" in configs("--alter", "--add-config", both)
    assert broker.comes_to_know(name, "one", "SCRAM-SHA-256")
    assert broker.comes_to_know(name, "two", "SCRAM-SHA-512")
    assert not broker.knows_scram(name, "two", "SCRAM-SHA-256")
    text = configs("--describe")
    assert all(
        part in text for part in (name, "SCRAM-SHA-256=", "iterations=8192", "SCRAM-SHA-512=", "iterations=4096")
    )
    configs("--alter", "--delete-config", "SCRAM-SHA-256")
    text = configs("--describe")
    assert "SCRAM-SHA-256" not in text
    assert "SCRAM-SHA-512" in text
    until(lambda: not broker.knows_scram(name, "one", "SCRAM-SHA-256"))
