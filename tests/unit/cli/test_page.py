"""`barnabas page`: its own connections, from a properties file."""

import pytest

from barnabas.cli.page import _security
from barnabas.core.errors import ConfigError

ALL = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN")


@pytest.mark.parametrize(
    ("text", "has_tls", "mechanisms"),
    [
        ("client.id=me\n", False, ALL),
        ("security.protocol=SASL_PLAINTEXT \n", False, ALL),
        ("security.protocol=ssl\n", True, ALL),
        ("security.protocol=SASL_SSL \nsasl.mechanism=PLAIN \n", True, ("PLAIN",)),
    ],
)
def test_users_log_in_by_the_protocol_and_mechanism_of_the_file(tmp_path, text, has_tls, mechanisms):
    file = tmp_path / "client.properties"
    file.write_text(text)
    security, found = _security(str(file), login=True)
    assert (security is not None and security.tls is not None, found) == (has_tls, mechanisms)


@pytest.mark.parametrize("text", ["security.protocol=TLS", "security.protocol=SASL-SSL", "security.protocol="])
def test_passwords_are_not_sent_without_tls_because_of_a_misspelt_protocol(tmp_path, text):
    file = tmp_path / "client.properties"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"client\.properties: security\.protocol="):
        _security(str(file), login=True)
