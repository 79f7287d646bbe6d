"""Kafka's client settings as librdkafka wants them: most have the same name; logins and stores have another form there.

| Kafka's | librdkafka's |
| --- | --- |
| `security.protocol`, `sasl.mechanism` | the same |
| `sasl.jaas.config` | `sasl.username`, `sasl.password` (PLAIN and SCRAM) |
| `ssl.truststore.*` | `ssl.ca.pem`; none: the authorities that the system knows |
| `ssl.keystore.*`, `ssl.key.password` | `ssl.certificate.pem`, `ssl.key.pem`, `ssl.key.password` |
| `ssl.endpoint.identification.algorithm` | the same; empty is `none` there |

Others are left out: they do not say how a cluster is reached.

Source: Kafka's producer configs; librdkafka's CONFIGURATION.md.
"""

from collections.abc import Mapping

from barnabas.clients.security import client_security
from barnabas.core.errors import ConfigError


def librdkafka_options(bootstrap_servers: str, values: Mapping[str, str]) -> dict[str, str]:
    """Give librdkafka's settings for a client that reaches the same cluster in the same way.

    Args:
        bootstrap_servers: `host:port,...`
        values: By Kafka's names. Some are secrets; so are some of the result.

    Raises:
        ConfigError: They can't be, or librdkafka can't do it; it names the setting, and holds no secret.
    """
    options = {"bootstrap.servers": bootstrap_servers}
    security = client_security(values)
    if security is None:
        return options
    options["security.protocol"] = values["security.protocol"]
    if security.tls is not None:
        from barnabas.wire.security.tls.contexts import certificates_of, key_pair_of

        options["ssl.endpoint.identification.algorithm"] = "https" if security.tls.checks_host else "none"
        if certificates := certificates_of(security.tls):
            options["ssl.ca.pem"] = certificates
        pair = key_pair_of(security.tls)
        if pair is not None:
            options["ssl.certificate.pem"] = options["ssl.key.pem"] = pair.pem.decode()
            if pair.password is not None:
                options["ssl.key.password"] = pair.password
    if security.login is not None:
        if not {"username", "password"} <= set(security.login.options):
            raise ConfigError(
                f"sasl.mechanism={security.mechanism}: librdkafka logs in by PLAIN or SCRAM, with the username and "
                "password of sasl.jaas.config"
            )
        options["sasl.mechanism"] = security.mechanism
        options["sasl.username"] = security.login.options["username"]
        options["sasl.password"] = security.login.options["password"]
    return options
