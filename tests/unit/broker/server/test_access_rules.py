"""Who may what, by the settings of the broker."""

import asyncio
from random import Random

import pytest

from barnabas.broker.administration.acls import AskedAcl
from barnabas.broker.server.access_rules import AccessRules, open_access_rules
from barnabas.core.config import BrokerConfig
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import StartupError
from barnabas.core.pending import Spawner
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.security.authorizer import AllowAll, Operation, ResourceType
from barnabas.wire.security.principals import ANONYMOUS, Principal
from tests.unit.memory_registry import memory_registry

ACLS = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}
TOPIC, PREFIXED, ALLOW = 2, 4, 3


def opened(then=None, **settings: str) -> AccessRules:
    """What the settings make, and what `then` does with it."""

    async def run() -> AccessRules:
        clock = ManualClock()
        errors: list[BaseException] = []
        registry = await memory_registry(clock)
        properties = {name.replace("_", "."): value for name, value in settings.items()}
        config = BrokerConfig.from_properties({"log.dirs": "/x", **properties})
        rules = await open_access_rules(config, registry, clock, clock, Spawner(errors.append), Random(1))
        if then is not None:
            await then(rules)
        assert errors == []
        return rules

    return asyncio.run(run())


def may(rules: AccessRules, principal: Principal, operation: Operation) -> bool:
    return rules.authorizer.may(principal, "h", operation, ResourceType.TOPIC, "t-1")


def test_without_an_authorizer_there_are_no_rules():
    assert isinstance(opened().authorizer, AllowAll)
    assert opened().admin is None


@pytest.mark.parametrize("name", ["kafka.security.authorizer.AclAuthorizer", "kafka.security.auth.SimpleAclAuthorizer"])
def test_kafkas_own_authorizer_is_meant_by_either_name(name):
    rules = opened(authorizer_class_name=name, super_users="User:CN=a,O=b;User:admin")
    assert may(rules, Principal("User", "CN=a,O=b"), Operation.WRITE)
    assert may(rules, Principal("User", "admin"), Operation.WRITE)
    assert not may(rules, ANONYMOUS, Operation.WRITE)


def test_a_super_user_that_is_none_ends_the_start():
    with pytest.raises(StartupError, match=r"super.users: expected .* but got admin"):
        opened(authorizer_class_name=ACLS["authorizer.class.name"], super_users="admin")


@pytest.mark.played(
    by=opened, authorizer_class_name=ACLS["authorizer.class.name"], allow_everyone_if_no_acl_found="TRUE"
)
async def test_everybody_may_what_no_rule_is_about_if_that_is_set(rules: AccessRules, /):
    assert may(rules, ANONYMOUS, Operation.WRITE)
    assert rules.admin is not None
    asked = AskedAcl(TOPIC, "t-", PREFIXED, "User:a", "*", Operation.READ, ALLOW)
    assert await rules.admin.create([asked]) == [None]
    # At once: the decision of a moment ago does not count any more.
    assert not may(rules, ANONYMOUS, Operation.WRITE)
    assert may(rules, Principal("User", "a"), Operation.DESCRIBE)


@pytest.mark.played(
    by=opened,
    authorizer_class_name=ACLS["authorizer.class.name"],
    inter_broker_protocol_version="1.1",
    log_message_format_version="1.1",
)
async def test_brokers_of_a_time_before_prefixes_are_given_none(rules: AccessRules, /):
    assert rules.admin is not None
    (error,) = await rules.admin.create([AskedAcl(TOPIC, "t-", PREFIXED, "User:a", "*", Operation.READ, ALLOW)])
    assert error is not None
    assert error.code is ErrorCode.UNSUPPORTED_VERSION
