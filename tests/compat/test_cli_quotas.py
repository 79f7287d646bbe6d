"""`barnabas quotas` against brokers that answer it and against Kafka, which does not know the request."""

import pytest

from barnabas.testing import Broker
from tests.compat.commands import Commands
from tests.compat.conftest import TARGET
from tests.patience import until
from tools.kafka.server import KafkaServer

COMMANDS = (
    ["explain"],
    ["explain", "--user", "alice"],
    ["top", "--once"],
    ["simulate", "--user", "alice", "--set", "producer_byte_rate=1000"],
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_kafka_is_said_to_be_none_that_explains(cluster: Broker | KafkaServer, command: list[str]) -> None:
    commands = Commands(cluster.bootstrap_servers)
    if TARGET == "kafka":
        complaint = commands.fails("quotas", *command)
        assert "Barnabas explains quotas, Kafka has no request for it" in complaint
    else:
        commands.json("quotas", *command)
    # The broker goes on all the same.
    commands.run("topics", "--list")


LIMITED = (
    (["--user", "cli-user"], "/config/users/cli-user", 3),
    (["--user", "cli-user", "--client-id", "cli app/1"], "/config/users/cli-user/clients/cli%20app%2F1", 1),
    (["--user", "cli-user", "--client-default"], "/config/users/cli-user/clients/<default>", 2),
    (["--client-id", "cli-app"], "/config/clients/cli-app", 7),
)


@pytest.mark.parametrize(("options", "node", "level"), LIMITED, ids=lambda each: str(each).replace("/", "-"))
def test_limits_are_set_listed_and_deleted(
    cluster: Broker | KafkaServer, options: list[str], node: str, level: int
) -> None:
    commands = Commands(cluster.bootstrap_servers)

    def limits() -> dict[str, object]:
        listed = commands.json("quotas", "list")
        found = [each for each in listed if each["node"] == node]
        assert [each["level"] for each in found] in ([], [level])
        return found[0]["limits"] if found else {}

    setting = ["--set", "producer_byte_rate=1000000", "--set", "request_percentage=12.5"]
    # A broker may answer before it goes by a change.
    shown = commands.run("quotas", "set", *options, *setting)
    assert shown.startswith("Set producer_byte_rate=1000000 for ")
    until(lambda: limits() == {"producer_byte_rate": 1_000_000, "request_percentage": 12.5})
    assert node in commands.run("quotas", "list")
    assert commands.run("quotas", "delete", *options, "--name", "request_percentage").startswith("Deleted request_")
    until(lambda: limits() == {"producer_byte_rate": 1_000_000})
    commands.run("quotas", "delete", *options)
    until(lambda: limits() == {})
    assert "no such limit is set" in commands.fails("quotas", "delete", *options)
