import pytest

from barnabas.clients.librdkafka import librdkafka_options
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
    }
    options = librdkafka_options("a:1", values)
    assert options["ssl.ca.pem"] == authority.certificate_pem.decode()
    assert "PRIVATE KEY" in options["ssl.key.pem"]
    assert "BEGIN CERTIFICATE" in options["ssl.certificate.pem"]
    assert options["ssl.endpoint.identification.algorithm"] == "none"


def test_a_login_that_librdkafka_can_not_do_is_refused():
    values = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
        'unsecuredLoginStringClaim_sub="m";',
    }
    with pytest.raises(ConfigError, match="librdkafka logs in by PLAIN or SCRAM"):
        librdkafka_options("a:1", values)
