"""Our own clients and commands on listeners that want TLS, a login, or both."""

import asyncio
import contextlib
import io
import json
import re
import socket
import ssl
import sys
import time
from typing import Any

import pytest
from confluent_kafka import Producer as KafkaTransactions

from barnabas.cli.main import main
from barnabas.clients.admin import Admin, NewTopic
from barnabas.clients.channel import Channel
from barnabas.clients.consumer import Consumer
from barnabas.clients.pool import Pool
from barnabas.clients.producer import Producer
from barnabas.clients.security import client_security
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.testing import Broker
from barnabas.testing.certificates import Authority
from tests.patience import PATIENCE_S, until

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
USERS = f'{PLAIN} username="admin" password="secret0" user_admin="secret0" user_alice="secret1";'
LOGINS = {"sasl.enabled.mechanisms": "PLAIN", "sasl.mechanism.inter.broker.protocol": "PLAIN"}


def logins(protocol, **more):
    return {
        **LOGINS,
        f"listener.name.{protocol.lower()}.plain.sasl.jaas.config": USERS,
        **{name.replace("_", "."): value for name, value in more.items()},
    }


@pytest.fixture(scope="module")
def broker():
    with Broker(security_protocol="SASL_SSL", config=logins("SASL_SSL")) as running:
        yield running


def settings(broker, **changed):
    return {
        "security.protocol": "SASL_SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(broker.ca_path),
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{PLAIN} username="alice" password="secret1";',
        **{name.replace("_", "."): value for name, value in changed.items()},
    }


def failure(broker, **changed):
    async def connect():
        channel = await Channel.connect(
            broker.host, broker.port, "test", security=client_security(settings(broker, **changed))
        )
        await channel.close()

    with pytest.raises(KafkaError) as failed:
        asyncio.run(connect())
    assert "secret" not in str(failed.value)
    return failed.value


def test_records_go_there_and_back(broker):
    async def story():
        security = client_security(settings(broker))
        async with Pool(broker.bootstrap_servers, "test", security=security) as pool:
            await Admin(pool).create_topic(NewTopic("t", 1, 1))
            async with Producer(pool) as producer:
                # More than the buffers of TLS hold, and than a record of it.
                sent = [bytes([65 + number]) * 300_000 for number in range(10)]
                for value in sent:
                    await producer.send("t", value, partition=0)
            consumer = Consumer(pool, auto_offset_reset="earliest")
            try:
                consumer.assign({TopicPartition("t", 0): 0})
                got = []
                while len(got) < len(sent):
                    got += [record.value for batch in await consumer.poll(1_000) for record in batch.records]
            finally:
                await consumer.close()
            assert got == sent

    asyncio.run(story())


def test_a_wrong_password_is_told_at_once(broker):
    error = failure(broker, sasl_jaas_config=f'{PLAIN} username="alice" password="secret2";')
    assert error.code is ErrorCode.SASL_AUTHENTICATION_FAILED
    assert "refuses the login: Authentication failed" in error.message


def test_a_mechanism_that_is_not_there_is_told_with_those_that_are(broker):
    error = failure(
        broker,
        sasl_mechanism="SCRAM-SHA-256",
        sasl_jaas_config="org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="alice" password="secret1";',
    )
    assert error.code is ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert "its mechanisms are PLAIN" in error.message


def test_an_authority_that_is_not_trusted_is_told(broker, tmp_path):
    (tmp_path / "ca.pem").write_bytes(Authority().certificate_pem)
    error = failure(broker, ssl_truststore_location=str(tmp_path / "ca.pem"))
    assert f"the certificate of {broker.bootstrap_servers} is refused: " in error.message


def test_a_certificate_for_another_host_is_refused_unless_nobody_asks(tmp_path):
    authority = Authority()
    (tmp_path / "ca.pem").write_bytes(authority.certificate_pem)
    (tmp_path / "broker.pem").write_bytes(authority.issue("broker", hosts=["elsewhere.example"]).pem())
    keys = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(tmp_path / "broker.pem")}
    with Broker(security_protocol="SSL", config=keys) as broker:
        changed = {"security_protocol": "SSL", "ssl_truststore_location": str(tmp_path / "ca.pem")}
        broker.ca_path.write_bytes(authority.certificate_pem)
        assert "certificate is not valid for '127.0.0.1'" in failure(broker, **changed).message
        changed["ssl_endpoint_identification_algorithm"] = ""

        async def connect():
            channel = await Channel.connect(
                broker.host, broker.port, "test", security=client_security(settings(broker, **changed))
            )
            await channel.close()

        asyncio.run(connect())


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_a_refused_certificate_of_the_client_is_told(tmp_path, version):
    (tmp_path / "client.pem").write_bytes(Authority("unknown").issue("client").pem())
    own = {"ssl_keystore_type": "PEM", "ssl_keystore_location": str(tmp_path / "client.pem")}
    with Broker(security_protocol="SSL", config={"ssl.client.auth": "required"}) as broker:
        changed = {"security_protocol": "SSL", "ssl_enabled_protocols": version}
        assert "TLS: tlsv1 alert unknown ca" in failure(broker, **changed, **own).message
        assert re.search("TLS: .*alert (certificate required|handshake failure)", failure(broker, **changed).message)


def test_who_does_not_speak_tls_is_told_where_to_look(broker):
    error = failure(broker, security_protocol="PLAINTEXT")
    assert error.message.endswith("does not speak Kafka's protocol, or not so: is security.protocol right?")


def test_a_connection_logs_in_again_before_its_session_ends():
    with Broker(
        security_protocol="SASL_PLAINTEXT", config=logins("SASL_PLAINTEXT", connections_max_reauth_ms="1500")
    ) as broker:

        async def story():
            security = client_security(settings(broker, security_protocol="SASL_PLAINTEXT"))
            async with Pool(broker.bootstrap_servers, "test", security=security) as pool:
                channel = await pool.any_broker()
                loop = asyncio.get_running_loop()
                end_s = loop.time() + 3
                while loop.time() < end_s:
                    # Several at once: one of them logs in again, and the others wait for it.
                    await asyncio.gather(*(pool.metadata([]) for _ in range(5)))
                assert await pool.any_broker() is channel

        asyncio.run(story())
        assert "closing the connection" not in broker.log_text()


@pytest.mark.parametrize(
    "protocol", ["SASL_SSL", *(pytest.param(each, marks=pytest.mark.whole) for each in ("SSL", "SASL_PLAINTEXT"))]
)
def test_brokers_reach_each_other_in_the_same_way(protocol):
    """A transaction's end goes to the partitions' leaders by the links between brokers, here to the broker itself."""
    config = logins(protocol, connections_max_reauth_ms="1500") if protocol.startswith("SASL") else {}
    with Broker(security_protocol=protocol, config=config) as broker:
        producer = KafkaTransactions(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "security.protocol": protocol,
                "transactional.id": "tx",
                **({"ssl.ca.location": str(broker.ca_path)} if "SSL" in protocol else {}),
                "sasl.mechanism": "PLAIN",
                "sasl.username": "alice",
                "sasl.password": "secret1",
            }
        )
        producer.init_transactions(PATIENCE_S)
        end_s = time.monotonic() + 4
        while time.monotonic() < end_s:
            producer.begin_transaction()
            producer.produce("t", b"x" * 100)
            producer.commit_transaction(PATIENCE_S)
        assert "cannot" not in broker.log_text()
        assert "login failed" not in broker.log_text()


def test_a_broker_that_cant_log_in_at_itself_says_why():
    users = f'{PLAIN} username="admin" password="secret9" user_admin="secret0" user_alice="secret1";'
    config = {**LOGINS, "listener.name.sasl_plaintext.plain.sasl.jaas.config": users}
    with Broker(security_protocol="SASL_PLAINTEXT", config=config) as broker:
        producer = KafkaTransactions(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "security.protocol": "SASL_PLAINTEXT",
                "transactional.id": "tx",
                "sasl.mechanism": "PLAIN",
                "sasl.username": "alice",
                "sasl.password": "secret1",
            }
        )
        producer.init_transactions(PATIENCE_S)
        producer.begin_transaction()
        producer.produce("t", b"x" * 100)
        # It is decided; its end can't reach the partition.
        producer.commit_transaction(PATIENCE_S)
        until(
            lambda: "broker 0 refuses the login: Authentication failed" in broker.log_text(), lambda: broker.log_text()
        )
        assert "secret" not in broker.log_text()


def command(*arguments, lines=b""):
    """Run a command in this process: its status, and all that it wrote."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    standard_input, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(lines))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                status = main([str(each) for each in arguments])
            except SystemExit as end:
                status = int(end.code or 0)
    finally:
        sys.stdin = standard_input
    return status, out.buffer.getvalue().decode()


def properties(path, values):
    path.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
    return path


def test_commands_take_it_from_a_file(broker, tmp_path):
    file = properties(tmp_path / "client.properties", settings(broker))
    at = ("--bootstrap-server", broker.bootstrap_servers)
    assert command("topics", *at, "--create", "--topic", "c", "--command-config", file)[0] == 0
    status, said = command("topics", *at, "--list", "--json", "--command-config", file)
    assert (status, "c" in str(json.loads(said))) == (0, True)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"sasl_jaas_config": f'{PLAIN} username="alice" password="secret9";'}, "refuses the login"),
        ({"sasl_mechanism": "GSSAPI"}, "sasl.mechanism=GSSAPI is not supported: use one of PLAIN"),
        ({"ssl_truststore_location": "/nowhere"}, "/nowhere is unusable: no such file"),
        ({"security_protocol": "TLS"}, "security.protocol=TLS is not supported"),
        ({"sasl_jaas_config": "secret7"}, "sasl.jaas.config: "),
    ],
)
def test_what_is_wrong_in_the_file_is_one_line_without_secrets(broker, tmp_path, changed, told):
    file = properties(tmp_path / "client.properties", settings(broker, **changed))
    status, said = command("topics", "--bootstrap-server", broker.bootstrap_servers, "--list", "--command-config", file)
    assert status == 1
    assert told in said
    assert "secret" not in said
    assert said.count("\n") == 1


def test_a_listeners_keys_are_changed_by_request(tmp_path):
    """As with kafka-configs: what can't be used is refused, and new connections get what can."""
    authority = Authority()
    for name in ("one", "two"):
        (tmp_path / f"{name}.pem").write_bytes(authority.issue(name).pem())
    (tmp_path / "ca.pem").write_bytes(authority.certificate_pem)
    setting = "listener.name.ssl.ssl.keystore.location"
    config = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(tmp_path / "one.pem")}
    with Broker(security_protocol="SSL", config=config) as broker:
        secure = {"security.protocol": "SSL", "ssl.truststore.type": "PEM"}
        secure["ssl.truststore.location"] = str(tmp_path / "ca.pem")
        file = properties(tmp_path / "client.properties", secure)

        def alter(path):
            at = ("--bootstrap-server", broker.bootstrap_servers, "--command-config", file)
            return command("configs", *at, "--alter", "--broker", "0", "--add-config", f"{setting}={path}")

        status, said = alter("/nowhere")
        assert (status, "/nowhere is unusable: no such file or directory" in said) == (1, True)
        assert alter(tmp_path / "two.pem")[0] == 0
        context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
        deadline = time.monotonic() + PATIENCE_S
        shown = ""
        while shown != "two":
            assert time.monotonic() < deadline
            with (
                socket.create_connection((broker.host, broker.port), PATIENCE_S) as plain,
                context.wrap_socket(plain, server_hostname="localhost") as sock,
            ):
                certificate: Any = sock.getpeercert()
                shown = dict(part[0] for part in certificate["subject"])["commonName"]
        assert "listener SSL has new keys or certificates" in broker.log_text()
