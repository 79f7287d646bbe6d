"""Authorization as `authorizer.class.name` sets it: none (everything is allowed), or by the access rules.

Source: semantics, ACLs; zookeeper.md, ACLs.
"""

from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.administration.acls import AclAdmin
from barnabas.core.clock import Clock
from barnabas.core.config import BrokerConfig
from barnabas.core.config.versions import kafka_version
from barnabas.core.errors import ConfigError, StartupError
from barnabas.core.pending import Spawner
from barnabas.core.timers import Timers
from barnabas.wire.registry.store import Registry
from barnabas.wire.security.authorizer import AllowAll, Authorizer

if TYPE_CHECKING:
    from random import Random

    from barnabas.broker.security.acls.authorizer import Denied
    from barnabas.wire.security.principals import Principal


class AccessRules(NamedTuple):
    """Attributes:
    admin: Changes the rules; None: ACLs are disabled.
    """

    authorizer: Authorizer
    admin: AclAdmin | None


async def open_access_rules(
    config: BrokerConfig,
    registry: Registry,
    clock: Clock,
    timers: Timers,
    spawner: Spawner,
    dice: "Random",
    on_denied: "Denied | None" = None,
) -> AccessRules:
    """Read and apply the access rules, if the settings enable them.

    Args:
        on_denied: Called for each denial.

    Raises:
        StartupError: An entry of `super.users` is not a principal.
        RegistryError: The rules could not be read.
    """
    if not config.authorizer_class_name:
        return AccessRules(AllowAll(), None)
    # Imported here, because a broker without access rules does not need them.
    from barnabas.broker.security.acls.authorizer import AclAuthorizer
    from barnabas.broker.security.acls.store import AclStore

    super_users = super_users_of(config)
    store = AclStore(registry, clock, timers, spawner, dice, lambda: authorizer.forget())
    authorizer = AclAuthorizer(store.rules, super_users, bool(config.of_authorizer("allow.everyone.if.no.acl.found")))
    if on_denied is not None:
        authorizer.on_denied = on_denied
    await store.start()
    first_with_prefixes = kafka_version("2.0-IV1")
    admin = AclAdmin(store, lambda: kafka_version(config.inter_broker_protocol_version) >= first_with_prefixes)
    return AccessRules(authorizer, admin)


def super_users_of(config: BrokerConfig) -> "frozenset[Principal]":
    """Parse `super.users`. Raises StartupError if an entry is not a principal."""
    from barnabas.broker.security.acls.authorizer import parse_super_users

    try:
        return parse_super_users(str(config.of_authorizer("super.users")))
    except ConfigError as error:
        raise StartupError(f"super.users: {error}") from None
