"""Settings that name a Java class for authorization or quotas.

Barnabas loads no Java classes. Such a class must not be ignored, because the broker would then allow requests that the
class denies. So the broker starts only with Kafka's own classes, whose behaviour it implements.

Source: Apache Kafka 2.7 documentation, broker configs; 3.1, secured OAUTHBEARER.
"""

from typing import NamedTuple

ACL_AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"
RACK_AWARE_SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
_COMMON = "org.apache.kafka.common.security."
_OAUTH = f"{_COMMON}oauthbearer."


class ClassSetting(NamedTuple):
    """A setting that names a class.

    Attributes:
        accepted: Kafka's classes that Barnabas replaces.
        requirement: The required value, and the alternative to another class.
    """

    accepted: tuple[str, ...]
    requirement: str


# differs from Kafka (policy-classes): Kafka loads them.
_NO_CLASSES = "Java classes are not supported; remove it, and"

CLASS_SETTINGS: dict[str, ClassSetting] = {
    "alter.config.policy.class.name": ClassSetting(
        (), f"{_NO_CLASSES} limit by access rules who may alter settings (AlterConfigs, docs/security.md)"
    ),
    # differs from Kafka (authorizer): Kafka loads any class.
    "authorizer.class.name": ClassSetting(
        (ACL_AUTHORIZER, "kafka.security.auth.SimpleAclAuthorizer"),
        f"must be empty (nobody is stopped) or {ACL_AUTHORIZER}: no other authorizer is here",
    ),
    "client.quota.callback.class": ClassSetting(
        (), f"{_NO_CLASSES} set quotas by user, client id and address (docs/quotas.md)"
    ),
    "create.topic.policy.class.name": ClassSetting(
        (), f"{_NO_CLASSES} limit by access rules who may create topics (Create, docs/security.md)"
    ),
    "principal.builder.class": ClassSetting(
        (f"{_COMMON}authenticator.DefaultKafkaPrincipalBuilder",),
        f"{_NO_CLASSES} map the names of certificates by ssl.principal.mapping.rules",
    ),
    # differs from Kafka (replica-selector): Kafka loads any class.
    "replica.selector.class": ClassSetting(
        (RACK_AWARE_SELECTOR,),
        f"must be unset (consumers read from leaders) or {RACK_AWARE_SELECTOR}: no other selector is here",
    ),
    "sasl.client.callback.handler.class": ClassSetting(
        (f"{_COMMON}authenticator.SaslClientCallbackHandler",),
        f"{_NO_CLASSES} set the login between brokers in the listener's sasl.jaas.config",
    ),
    "sasl.login.callback.handler.class": ClassSetting(
        (
            f"{_COMMON}authenticator.AbstractLogin$DefaultLoginCallbackHandler",
            f"{_OAUTH}internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler",
        ),
        f"{_NO_CLASSES} set the login between brokers in the listener's sasl.jaas.config",
    ),
    "sasl.login.class": ClassSetting(
        (f"{_COMMON}authenticator.DefaultLogin",),
        f"{_NO_CLASSES} set the login between brokers in the listener's sasl.jaas.config",
    ),
    "sasl.server.callback.handler.class": ClassSetting(
        (
            f"{_COMMON}authenticator.SaslServerCallbackHandler",
            f"{_COMMON}plain.internals.PlainServerCallbackHandler",
            f"{_COMMON}scram.internals.ScramServerCallbackHandler",
            f"{_OAUTH}internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler",
            f"{_OAUTH}secured.OAuthBearerValidatorCallbackHandler",
            f"{_OAUTH}OAuthBearerValidatorCallbackHandler",
        ),
        f"{_NO_CLASSES} use SCRAM users, PLAIN users in sasl.jaas.config, or sasl.oauthbearer.jwks.endpoint.url",
    ),
    "security.providers": ClassSetting((), f"{_NO_CLASSES} use the ciphers and SASL mechanisms of docs/security.md"),
    "ssl.engine.factory.class": ClassSetting(
        (f"{_COMMON}ssl.DefaultSslEngineFactory",),
        f"{_NO_CLASSES} configure TLS, which OpenSSL provides, by ssl.* (docs/security.md)",
    ),
}


def refuse_class(name: str, text: str) -> str | None:
    """Return why a class setting's value is invalid and what to do; None: it is valid.

    Args:
        name: The setting's name without the prefix of a listener.
        text: Its value; empty is unset.
    """
    setting = CLASS_SETTINGS.get(name)
    return None if setting is None or not text or text in setting.accepted else setting.requirement
