"""All that `barnabas explain` advises runs: each command in its form, with names that there are."""

import shlex
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas.testing import Broker
from tests.commands import run
from tests.patience import PATIENCE_S

COMMANDS = (
    "acls --add --allow-principal User:alice --operation Write --topic t",
    "acls --list --topic t --resource-pattern-type match",
    "cluster status",
    "cluster status --broker 0",
    "configs --alter --topic t --add-config retention.ms=604800000",
    "configs --describe --topic t",
    "elect-leaders --election-type unclean --topic t --partition 0",
    "explain broker 0",
    "explain disk t",
    "explain group g",
    "explain topic t",
    "groups --describe --group g",
    "groups --describe --group g --members",
    "groups --describe --group g --members --verbose",
    "groups --reset-offsets --group g --topic t --to-earliest",
    "groups --reset-offsets --group g --topic t --to-latest",
    "log-dirs --describe --broker-list 0",
    "quotas explain --user ANONYMOUS --client-id busy",
    "topics --describe --topic t",
    "transactions describe --transactional-id payments",
    "transactions hanging --topic t --partition 0",
    "users list",
)
RUN_ELSEWHERE = ("transactions abort --topic t --partition 0 --start-offset 10",)
"""It needs a transaction that hangs: tests/compat/test_cli_transactions.py."""


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    config = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer", "super.users": "User:ANONYMOUS"}
    with Broker(config=config) as broker:
        servers = broker.bootstrap_servers
        assert run("topics", "--create", "--topic", "t", "--bootstrap-server", servers).returncode == 0
        reader = Consumer({"bootstrap.servers": servers, "group.id": "g", "log_level": 0})
        reader.commit(offsets=[TopicPartition("t", 0, 0)], asynchronous=False)
        reader.close()
        Producer({"bootstrap.servers": servers, "transactional.id": "payments"}).init_transactions(PATIENCE_S)
        yield servers


@pytest.mark.parametrize("line", COMMANDS)
def test_what_is_advised_runs(servers: str, line: str) -> None:
    ran = run(*shlex.split(line), "--bootstrap-server", servers)
    # That one answers by its exit code, too.
    may_not_stop = line == "cluster status --broker 0" and "may not stop now" in ran.stdout
    assert ran.returncode == 0 or may_not_stop, ran.stderr
