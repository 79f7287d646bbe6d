"""`barnabas quotas` against a broker that is used, over its restarts."""

import json
from typing import Any

import pytest

from barnabas.testing import Broker
from tests import commands
from tests.patience import until


class Quotas:
    """Runs commands against one broker."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    def run(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        """A command's output and what it said beside it."""
        ended = commands.run(*arguments, "--bootstrap-server", self.broker.bootstrap_servers)
        assert ended.returncode == code, ended.stdout + ended.stderr
        return ended.stdout, ended.stderr

    def json(self, *arguments: str) -> Any:
        return json.loads(self.run("quotas", *arguments, "--json")[0])

    def produce(self, client_id: str, count: int = 200) -> None:
        arguments = ["--topic", "t", "--num-records", str(count), "--record-size", "1000"]
        properties = [f"bootstrap.servers={self.broker.bootstrap_servers}", f"client.id={client_id}"]
        self.run_perf(*arguments, "--producer-props", *properties)

    def run_perf(self, *arguments: str) -> None:
        commands.run("perf", "produce", *arguments).check_returncode()

    def used(self, client_id: str) -> float:
        """What a client id produced in the last hour, as far as it was collected."""
        (told,) = self.json("top", "--once", "--seconds", "3600")
        found = [each for each in told["clients"] if each["client_id"] == client_id]
        return found[0]["rates"]["producer_byte_rate"] * 3_600 if found else 0.0


@pytest.fixture
def quotas():
    with Broker() as broker:
        yield Quotas(broker)


def test_who_uses_how_much_is_known_over_a_restart(quotas: Quotas) -> None:
    quotas.produce("importer")
    until(lambda: quotas.used("importer") > 200_000)
    used = quotas.used("importer")
    assert used < 400_000
    shown, _ = quotas.run("quotas", "top", "--once", "--seconds", "3600")
    assert shown.startswith("Broker 0, the 3600 seconds before ")
    assert "importer" in shown
    quotas.broker.stop()
    quotas.broker.start()
    assert used * 0.999 <= quotas.used("importer") < 400_000


def test_a_kill_keeps_what_was_written(quotas: Quotas) -> None:
    quotas.produce("importer")
    until(lambda: quotas.used("importer") > 200_000)
    quotas.broker.stop()
    quotas.broker.start()
    quotas.broker.kill()
    quotas.broker.start()
    assert quotas.used("importer") > 200_000
    # A file that is none stops nobody.
    quotas.broker.stop()
    (quotas.broker.data_dir / "quota-history").write_bytes(b"BQH1 and nothing that belongs to it")
    quotas.broker.start()
    assert quotas.used("importer") == 0
    assert "its checksum is wrong" in quotas.broker.log_text()


def test_everybody_may_ask_about_himself(quotas: Quotas) -> None:
    (told,) = quotas.json("explain")
    assert (told["user"], told["client_id"]) == ("ANONYMOUS", "barnabas-quotas")
    assert [each["limit"] for each in told["quotas"]] == [None] * 4
    shown, noted = quotas.run("quotas", "explain", "--user", "alice", "--client-id", "importer")
    lines = shown.splitlines()
    assert lines[0] == "Broker 0: user 'alice', client id 'importer'"
    assert "producer_byte_rate: no limit" in lines
    assert any("/config/users/alice/clients/importer" in line for line in lines)
    assert noted.startswith("Limits are per broker")


def test_what_a_limit_would_have_done(quotas: Quotas) -> None:
    quotas.produce("importer", 2_000)
    until(lambda: quotas.used("importer") > 2_000_000)
    (low,) = quotas.json("simulate", "--client-id", "importer", "--set", "producer_byte_rate=50000")
    (importer,) = low["clients"]
    assert (importer["user"], importer["client_id"]) == ("ANONYMOUS", "importer")
    assert importer["hold_count"] > 0
    assert 2_000_000 < importer["used"] < 4_000_000
    (high,) = quotas.json("simulate", "--user-default", "--set", "producer_byte_rate=50000000")
    assert [each["hold_count"] for each in high["clients"] if each["client_id"] == "importer"] == [0]
    shown, noted = quotas.run("quotas", "simulate", "--client-id", "nobody", "--set", "request_percentage=5")
    assert "request_percentage=5.0 for client id 'nobody'" in shown
    assert "applied to no active client" in noted


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--set", "producer_byte_rate=1"], "no quota entity given"),
        (["--user", "alice"], "no limit given"),
        (["--user", "alice", "--set", "producer_byte_rate"], "must have the form name=value"),
        (["--user", "alice", "--set", "retention.ms=1"], "must be one of producer_byte_rate"),
        (["--user", "alice", "--set", "producer_byte_rate=1.5"], "whole number"),
        (["--user", "alice", "--set", "request_percentage=-1"], "must be more than 0"),
        (["--user", "alice", "--user-default", "--set", "request_percentage=1"], "leave one of the two options out"),
        (["--user", "", "--set", "request_percentage=1"], "must not be empty"),
    ],
)
def test_mistakes(kafka_broker_session: Broker, arguments: list[str], complaint: str) -> None:
    said = Quotas(kafka_broker_session).run("quotas", "simulate", *arguments, code=1)[1]
    assert complaint in said
    assert said.count("\n") == 1


def test_a_limit_that_holds_is_explained(quotas: Quotas) -> None:
    shown, noted = quotas.run("quotas", "set", "--client-id", "importer", "--set", "producer_byte_rate=15000")
    assert shown == "Set producer_byte_rate=15000 for client id 'importer'.\n"
    assert noted.startswith("Limits are per broker")
    (listed,) = quotas.json("list")
    assert listed == {"level": 7, "node": "/config/clients/importer", "limits": {"producer_byte_rate": 15_000}}
    # A second's worth beyond what eleven windows have room for: held for some seconds, and measured for as long.
    quotas.produce("importer")
    until(lambda: quotas.used("importer") > 200_000)
    (told,) = quotas.json("explain", "--client-id", "importer")
    produce = told["quotas"][0]
    assert (produce["limit"], produce["level"], produce["shared_by"]["client_id"]) == (15_000, 7, "importer")
    assert produce["throttle_count"] > 0
    assert produce["throttle_total_ms"] > 0
    # A mebibyte in a rate of 15,000 takes more than a minute, which no client waits.
    assert len(produce["exceeds"]) >= 1
    shown, _ = quotas.run("quotas", "explain", "--client-id", "importer")
    assert "producer_byte_rate: at most 14.6 KiB/s (15,000 bytes), " in shown
    assert "  why        level 7 (client id 'importer'): nothing is set above it" in shown
    assert "  WARNING    that exceeds the client setting " in shown
    assert any(line.split()[0] == "7" and "15,000 *" in line for line in shown.splitlines() if line.strip())
    # The level above counts at once.
    quotas.run("quotas", "set", "--user-default", "--set", "producer_byte_rate=1000000")
    until(lambda: quotas.json("explain", "--client-id", "importer")[0]["quotas"][0]["level"] == 6)
    assert "level 7 is set too" in quotas.json("explain", "--client-id", "importer")[0]["quotas"][0]["why"]


def test_kept_limits_are_part_of_a_simulation(quotas: Quotas) -> None:
    quotas.run("quotas", "set", "--user", "ANONYMOUS", "--set", "producer_byte_rate=100000000")
    quotas.produce("importer", 1_000)
    until(lambda: quotas.used("importer") > 1_000_000)
    # The user's limit stands above that of the client id, which is in force for nobody.
    (told,) = quotas.json("simulate", "--client-id", "importer", "--set", "producer_byte_rate=1000")
    assert told["clients"] == []
    (told,) = quotas.json("simulate", "--user", "ANONYMOUS", "--set", "producer_byte_rate=10000")
    assert "importer" in {each["client_id"] for each in told["clients"] if each["hold_count"]}
