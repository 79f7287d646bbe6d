"""Which listener a page beside a broker uses, and what it is told."""

import pytest

from barnabas.broker.server.page_process import plan_page, server_of
from barnabas.core.config import BrokerConfig
from barnabas.core.config.properties import parse_properties
from barnabas.core.errors import ConfigError

KEYS = "-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----\n"


def config(listeners: str, **settings: str) -> BrokerConfig:
    first = listeners.partition("://")[0]
    names = {name.replace("_", "."): value for name, value in settings.items()}
    return BrokerConfig.single_broker({"listeners": listeners, "inter.broker.listener.name": first, **names})


@pytest.mark.parametrize(
    ("listeners", "settings", "protocol", "options"),
    [
        ("PLAINTEXT://h:1", {}, "PLAINTEXT", []),
        ("PLAINTEXT://h:1,SSL://h:2", {}, "PLAINTEXT", []),
        ("SSL://h:1,PLAINTEXT://h:2", {}, "PLAINTEXT", []),
        ("SSL://h:1", {}, "SSL", []),
        ("PLAINTEXT://h:1,SASL_SSL://h:2", {"sasl_enabled_mechanisms": "PLAIN"}, "SASL_SSL", ["--login"]),
        ("PLAINTEXT://h:1,SASL_SSL://h:2", {"sasl_enabled_mechanisms": "OAUTHBEARER"}, "PLAINTEXT", []),
    ],
)
def test_users_log_in_where_they_can(listeners: str, settings: dict[str, str], protocol: str, options: list[str]):
    plan = plan_page(config(listeners, **settings), ["--allow-changes"])
    assert plan.endpoint.security_protocol == protocol
    assert plan.options == [*options, "--allow-changes"]
    assert parse_properties(plan.properties)[0]["security.protocol"] == protocol


@pytest.mark.parametrize(
    ("listeners", "settings"),
    [("SSL://h:1", {"ssl_client_auth": "required"}), ("SASL_SSL://h:1", {"sasl_enabled_mechanisms": "OAUTHBEARER"})],
)
def test_a_listener_that_it_can_not_use_is_none(listeners: str, settings: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="--page: there is no listener for it"):
        plan_page(config(listeners, **settings), [])


def test_it_is_told_whom_to_trust_and_nothing_more() -> None:
    made = config(
        "SASL_SSL://0.0.0.0:9093",
        advertised_listeners="SASL_SSL://kafka.example.org:9093",
        sasl_enabled_mechanisms="PLAIN",
        ssl_truststore_type="PEM",
        ssl_truststore_certificates=KEYS,
        ssl_truststore_password="pässword \\=",
        ssl_keystore_password="mine",
        ssl_key_password="mine",
    )
    plan = plan_page(made, [])
    assert parse_properties(plan.properties)[0] == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": KEYS.strip(),
        "ssl.truststore.password": "pässword \\=",
    }
    assert server_of(plan, made, ("0.0.0.0", 9093)) == "kafka.example.org:9093"
    clear = config("PLAINTEXT://:9092")
    assert server_of(plan_page(clear, []), clear, ("::", 9092)) == "[::1]:9092"
