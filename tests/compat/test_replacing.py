"""A cluster of three Kafka 2.7.2 becomes one of Barnabas and Kafka's again under load, by docs/replacing.md as pasted.

Ours and Java's idempotent producers, a transactional one and a group go on all the while, and users log in, are refused
and held as Kafka has it.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Producer

from tests.cluster_load import ClusterLoad
from tests.cluster_soak.load import PARTITIONS, LastingJava, Writer
from tests.commands import run
from tests.compat.machines import START_KAFKA, Machine, Machines, commands, three_machines
from tests.log_tools import damages, differences_of_dumps
from tests.patience import PATIENCE_S, until
from tests.replicas import stored_replicas, wait_for_equal_replicas
from tests.simulation.checker import violations

_TOPIC = "numbers"
_JAVA_TOPIC = "java"
_TOPICS = (_TOPIC, f"{_TOPIC}-copied", _JAVA_TOPIC, "diary")
_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule"
_MECHANISM = ("--mechanism", "SCRAM-SHA-256")
_LARGE = 2_000_000
_PAUSE_S = 0.1
_SETTINGS = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": "User:ANONYMOUS;User:admin",
}


class Shared:
    """What brokers have in common beside topics: users, what alice may and how much, and settings.

    Args:
        machines: All of Kafka now.
        directory: Where the file stands by which commands log in.
    """

    def __init__(self, machines: Machines, directory: Path) -> None:
        self.admin = directory / "admin.properties"
        self._servers = ",".join(each.servers for each in machines.values())
        (directory / "password").write_text("secret\n")
        for user in ("admin", "alice"):
            self._run("users", "add", "--user", user, *_MECHANISM, "--password-file", directory / "password")
        self.admin.write_text(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\n"
            f'sasl.jaas.config={_LOGIN} required username="admin" password="secret";\n'
        )
        for topic in ("diary", _JAVA_TOPIC):
            count = ("--partitions", PARTITIONS, "--replication-factor", len(machines))
            self._run("topics", "--create", "--topic", topic, *count, "--config", "retention.ms=100000000")
        self._run("acls", "--add", "--allow-principal", "User:alice", "--producer", "--topic", "diary")
        self._run("quotas", "set", "--user", "alice", "--set", f"producer_byte_rate={_LARGE // 20}")
        by_default = ("configs", "--alter", "--entity-type", "brokers", "--entity-default")
        self._run(*by_default, "--add-config", f"message.max.bytes={_LARGE},log.cleaner.threads=2")
        # A Kafka answers for a topic once the controller has told it of it, which no command waits for.
        until(lambda: all(self._knows_the_topics(each) for each in machines.values()))
        self._told: list[str] = []
        until(lambda: self._hears_the_same_of_all(machines))

    def check(self, machine: Machine) -> None:
        """See that a broker knows what all of them share, as it did when it was Kafka, and goes by it."""
        until(lambda: self._asked(machine) == self._told)
        alice = _producer(machine.login_servers, "secret", {})
        assert not alice.list_topics("diary", PATIENCE_S).topics["diary"].error
        refusal = alice.list_topics(_TOPIC, PATIENCE_S).topics[_TOPIC].error
        assert refusal.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
        errors: list[KafkaError] = []
        stranger = _producer(machine.login_servers, "wrong", {"error_cb": errors.append})
        until(lambda: stranger.poll(0.1) or errors)
        assert errors[0].code() == KafkaError._AUTHENTICATION

    def check_limits(self, machines: Machines) -> None:
        """See that each broker, which leads a part of the diary, takes what is large and holds alice for it."""
        held: set[int] = set()
        servers = ",".join(each.login_servers for each in machines.values())
        settings = {"throttle_cb": lambda event: held.add(event.broker_id), "message.max.bytes": _LARGE}
        alice = _producer(servers, "secret", settings)
        for index in range(PARTITIONS):
            alice.produce("diary", b"x" * (_LARGE * 3 // 4), partition=index)
        assert alice.flush(PATIENCE_S) == 0
        until(lambda: alice.poll(0.1) or held == machines.keys())

    def _hears_the_same_of_all(self, machines: Machines) -> bool:
        """Note what the first broker says; tell whether that is all, and what each other one says, too."""
        self._told, *others = (self._asked(each) for each in machines.values())
        return str(_LARGE) in self._told[-1] and all(other == self._told for other in others)

    def _asked(self, machine: Machine) -> list[str]:
        questions = (
            ("users", "list"),
            ("acls", "--list"),
            ("quotas", "list"),
            ("configs", "--describe", "--topic", "diary"),
            ("configs", "--describe", "--entity-type", "brokers", "--entity-default"),
        )
        return [self._run(*question, "--json", servers=machine.servers) for question in questions]

    def _knows_the_topics(self, machine: Machine) -> bool:
        listed = self._run("topics", "--list", servers=machine.servers).split()
        return {"diary", _JAVA_TOPIC} <= set(listed)

    def _run(self, *arguments: object, servers: str = "") -> str:
        ran = run(*arguments, "--bootstrap-server", servers or self._servers)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout


def _producer(servers: str, password: str, settings: Mapping[str, object]) -> Producer:
    """Return a producer of alice's."""
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-256"}
    who = {"bootstrap.servers": servers, "sasl.username": "alice", "sasl.password": password}
    return Producer({**login, **who, "log_level": 0, **settings})


@pytest.mark.parametrize("back_count", [1, pytest.param(3, marks=pytest.mark.whole)])
def test_a_cluster_of_kafka_is_replaced_and_comes_back_under_load(
    back_count: int, tmp_path: Path, connect: str
) -> None:
    starts = dict.fromkeys((1, 2, 3), START_KAFKA)
    with three_machines(tmp_path, connect, starts, _SETTINGS) as machines:
        shared = Shared(machines, tmp_path)
        login_servers = ",".join(each.login_servers for each in machines.values())
        for machine in machines.values():
            machine.paste(f"SERVERS={login_servers} ADMIN={shared.admin}")
        servers = ",".join(each.servers for each in machines.values())
        load = ClusterLoad(servers, _TOPIC, _PAUSE_S)
        writer = Writer(LastingJava(servers, _JAVA_TOPIC), _JAVA_TOPIC, _PAUSE_S)
        try:
            asyncio.run(_replace_and_come_back(machines, back_count, shared, load))
        finally:
            writer.end()
        writer.check()
        data_dirs = {broker_id: each.data_dir for broker_id, each in machines.items()}
        for topic in _TOPICS:
            wait_for_equal_replicas(data_dirs, topic, PARTITIONS)
        load.observed.appends += writer.appends
        load.observed.replicas += stored_replicas(data_dirs, [_TOPIC, _JAVA_TOPIC], PARTITIONS)
        assert load.wrong() + violations(load.observed) == []
        assert differences_of_dumps(data_dirs, _TOPICS) == []
        assert damages(data_dirs) == []


async def _replace_and_come_back(machines: Machines, back_count: int, shared: Shared, load: ClusterLoad) -> None:
    _, check, look = commands("Before the first broker")
    *steps, elect = commands("From Kafka to Barnabas")
    steps_back = commands("From Barnabas to Kafka")
    first = machines[1]
    for machine in machines.values():
        assert "The broker starts with" in await asyncio.to_thread(machine.paste, check)
    await load.start()
    try:
        await load.goes_on(10)
        for pasted, software, count in ((steps, "Barnabas", len(machines)), (steps_back, "Kafka 2.7", back_count)):
            status = await asyncio.to_thread(first.paste, f"{look} --json")
            for machine in _controller_last(machines, status)[:count]:
                for command in pasted:
                    await asyncio.to_thread(machine.paste, command)
                await load.goes_on(10)
                await asyncio.to_thread(shared.check, machine)
            await asyncio.to_thread(first.paste, elect)
            told = json.loads(await asyncio.to_thread(first.paste, f"{look} --json"))
            found = Counter(each["software"] for each in told["brokers"])
            assert (found[software], found.total()) == (count, len(machines))
            await asyncio.to_thread(shared.check_limits, machines)
        await load.end()
    finally:
        await load.close()


def _controller_last(machines: Machines, status: str) -> list[Machine]:
    controller_id = json.loads(status)["controller_id"]
    return sorted(machines.values(), key=lambda each: each.broker_id == controller_id)
