import pytest
from confluent_kafka import Consumer, Producer

from barnabas.clients.librdkafka import consumer_options, ignored_settings, librdkafka_options, producer_options
from barnabas.core.errors import ConfigError
from barnabas.testing.certificates import Authority

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_in_the_clear_there_is_nothing_to_say():
    assert librdkafka_options("a:1,b:2", {"client.id": "m"}) == {"bootstrap.servers": "a:1,b:2"}


def test_a_login():
    values = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{PLAIN} required username="m" password="s;=";',
    }
    assert librdkafka_options("a:1", values) == {
        "bootstrap.servers": "a:1",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "m",
        "sasl.password": "s;=",
    }


def test_stores_become_pem(tmp_path):
    authority = Authority()
    (tmp_path / "ca.pem").write_bytes(authority.certificate_pem)
    (tmp_path / "own.pem").write_bytes(authority.issue("m").pem())
    values = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(tmp_path / "ca.pem"),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(tmp_path / "own.pem"),
        "ssl.endpoint.identification.algorithm": "",
        "barnabas.ssl.crl.location": str(tmp_path / "revoked.pem"),
    }
    options = librdkafka_options("a:1", values)
    assert options["ssl.crl.location"] == values["barnabas.ssl.crl.location"]
    assert options["ssl.ca.pem"].strip() == authority.certificate_pem.decode().strip()
    assert "PRIVATE KEY" in options["ssl.key.pem"]
    assert "BEGIN CERTIFICATE" in options["ssl.certificate.pem"]
    assert options["ssl.endpoint.identification.algorithm"] == "none"


OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.mark.parametrize(
    ("mechanism", "jaas", "named"),
    [
        ("OAUTHBEARER", f'{OAUTH} required unsecuredLoginStringClaim_sub="m";', "OAUTHBEARER is not supported"),
        ("GSSAPI", "com.sun.security.auth.module.Krb5LoginModule required;", "GSSAPI is not supported.*Kerberos"),
        ("SCRAM-SHA-256", f'{SCRAM} required username="t" password="p" tokenauth="true";', "tokenauth=true"),
    ],
)
def test_a_login_that_librdkafka_can_not_do_is_refused(mechanism, jaas, named):
    values = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": jaas}
    with pytest.raises(ConfigError, match=named):
        librdkafka_options("a:1", values)


def test_a_consumer_s_settings_have_librdkafka_s_names_and_are_accepted_by_it():
    values = {
        "client.id": "m",
        "request.timeout.ms": "7000",
        "receive.buffer.bytes": "-1",
        "isolation.level": "read_uncommitted",
        "fetch.max.wait.ms": "100",
        "fetch.max.bytes": "500",
        "max.partition.fetch.bytes": "400",
        "max.poll.records": "10",
    }
    options = consumer_options("127.0.0.1:1", values)
    assert options == {
        "bootstrap.servers": "127.0.0.1:1",
        "client.id": "m",
        "socket.timeout.ms": "7000",
        "socket.receive.buffer.bytes": "0",
        "isolation.level": "read_uncommitted",
        "fetch.wait.max.ms": "100",
        "fetch.max.bytes": "1000",
        "message.max.bytes": "1000",
        "receive.message.max.bytes": "100000000",
        "max.partition.fetch.bytes": "400",
    }
    Consumer({**options, "group.id": "g"}).close()
    large = {"fetch.max.bytes": "200000000"}
    Consumer({**consumer_options("127.0.0.1:1", large), "group.id": "g"}).close()
    with pytest.raises(ConfigError, match="bytes=much"):
        consumer_options("a:1", {"fetch.max.bytes": "much"})


def test_a_producer_s_settings_have_librdkafka_s_names_and_are_accepted_by_it():
    values = {"acks": "1", "compression.type": "zstd", "max.request.size": "2000000", "buffer.memory": "33554432"}
    options = producer_options("127.0.0.1:1", values)
    assert options == {
        "bootstrap.servers": "127.0.0.1:1",
        "acks": "1",
        "compression.type": "zstd",
        "enable.idempotence": "false",
        "message.max.bytes": "2000000",
        "partitioner": "murmur2_random",
        "queue.buffering.max.kbytes": "32768",
    }
    Producer(options)
    assert producer_options("a:1", {"acks": "-1"})["enable.idempotence"] == "true"


def test_settings_without_an_equivalent_are_named():
    values = {"max.poll.records": "1", "key.serializer": "x", "linger.ms": "5", "ssl.keystore.type": "PEM"}
    assert ignored_settings(values) == ["key.serializer", "max.poll.records"]
