"""`barnabas users` on the broker under test, and on a registry before there is a broker."""

import pytest
from confluent_kafka import Producer

from barnabas.cli.main import main
from tests.compat.conftest import TARGET
from tests.compat.sasl_broker import MODULES, SaslBroker, sasl_broker
from tests.patience import PATIENCE_S


@pytest.fixture
def password(commands):
    commands.stdin = "secret\nnot this\n"


def rows(commands, *arguments):
    return {(row["user"], row["mechanism"]): row["iterations"] for row in commands.json(*arguments)}


def test_users_come_and_go(commands, name, password):
    commands.run("users", "add", "--user", name, "--mechanism", "SCRAM-SHA-256", "--mechanism", "SCRAM-SHA-512")
    expected = {(name, "SCRAM-SHA-256"): 4096, (name, "SCRAM-SHA-512"): 4096}
    assert rows(commands, "users", "describe", "--user", name) == expected
    assert expected.items() <= rows(commands, "users", "list").items()
    assert name in commands.run("users", "list")
    commands.run("users", "delete", "--user", name, "--mechanism", "SCRAM-SHA-256")
    assert rows(commands, "users", "describe", "--user", name) == {(name, "SCRAM-SHA-512"): 4096}
    commands.run("users", "delete", "--user", name)
    assert (name, "SCRAM-SHA-512") not in rows(commands, "users", "list")
    assert "does not exist" in commands.fails("users", "describe", "--user", name)


def test_mistakes(commands, name, password, tmp_path):
    assert "--mechanism PLAIN" in commands.fails("users", "add", "--user", name, "--mechanism", "PLAIN")
    assert "4096" in commands.fails("users", "add", "--user", name, "--iterations", "10")
    assert "exclude each other" in commands.fails("users", "list", "--log-dir", "x", "--zookeeper", "y")
    empty = tmp_path / "empty"
    empty.write_text("\n")
    assert "password is empty" in commands.fails("users", "add", "--user", name, "--password-file", str(empty))
    assert "Username must not be empty" in commands.fails("users", "add", "--user", "")


@pytest.mark.parametrize("option", ["--password", "--password=secret", "-p"])
def test_a_password_is_no_option(option, capsys):
    """Where every user of the machine could read it."""
    assert main(["users", "add", "--user", "alice", option, "secret"]) != 0
    assert "No such option" in capsys.readouterr().err


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_whom_it_adds_can_log_in(name, mechanism, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("a password with blanks\n")
    with sasl_broker() as broker:
        assert add(name, mechanism, secret, "--bootstrap-server", broker.plaintext) == 0
        assert logs_in(broker, name, mechanism)


@pytest.mark.skipif(TARGET == "kafka", reason="a directory of our broker")
def test_users_are_there_before_the_first_start(name, tmp_path, capsys):
    secret = tmp_path / "secret"
    secret.write_text("a password with blanks\n")
    data = tmp_path / "data"
    data.mkdir()
    assert add(name, "SCRAM-SHA-512", secret, "--log-dir", str(data)) == 0
    assert main(["users", "list", "--log-dir", str(data), "--json"]) == 0
    assert name in capsys.readouterr().out
    with sasl_broker({"log.dirs": str(data)}) as broker:
        assert logs_in(broker, name, "SCRAM-SHA-512")
        assert main(["users", "list", "--log-dir", str(data)]) == 1
    assert main(["users", "delete", "--user", name, "--log-dir", str(data)]) == 0
    assert main(["users", "describe", "--user", name, "--log-dir", str(data)]) == 1


@pytest.mark.skipif(TARGET == "kafka", reason="a directory of our broker")
def test_a_broker_logs_in_at_itself_as_a_user_who_was_there_before(name, tmp_path):
    """The markers of a transaction go from its coordinator to the partitions' leaders: the next one waits for them."""
    secret, data = tmp_path / "secret", tmp_path / "data"
    secret.write_text("pw\n")
    data.mkdir()
    assert add("broker", "SCRAM-SHA-512", secret, "--log-dir", str(data)) == 0
    line = f'{MODULES}.scram.ScramLoginModule required username="broker" password="pw";'
    config = {
        "log.dirs": str(data),
        "inter.broker.listener.name": "USERS",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
        "listener.name.users.scram-sha-512.sasl.jaas.config": line,
    }
    with sasl_broker(config) as broker:
        producer = Producer(
            {
                "bootstrap.servers": broker.sasl,
                "log_level": 0,
                "security.protocol": "sasl_plaintext",
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.username": "broker",
                "sasl.password": "pw",
                "transactional.id": name,
            }
        )
        producer.init_transactions(PATIENCE_S)
        for _ in range(2):
            producer.begin_transaction()
            producer.produce(name, b"x")
            producer.commit_transaction(PATIENCE_S)


def add(name, mechanism, secret, *where):
    return main(["users", "add", "--user", name, "--mechanism", mechanism, "--password-file", str(secret), *where])


def logs_in(broker: SaslBroker, name, mechanism):
    return broker.comes_to_know(name, "a password with blanks", mechanism)
