"""Decisions by access rules: super users, what no rule is about, what is kept, and what is logged."""

import logging

import pytest

from barnabas.core.errors import ConfigError
from barnabas.security.acls import authorizer as module
from barnabas.security.acls.authorizer import LOGGER_NAME, AclAuthorizer, parse_super_users
from barnabas.security.acls.model import Entry, Pattern, Permission
from barnabas.security.acls.rules import Rules
from barnabas.security.authorizer import ALL_OPERATIONS, Operation, ResourceType
from barnabas.security.principals import Principal

ALICE, ADMIN = Principal("User", "alice"), Principal("User", "admin")
T = Pattern(ResourceType.TOPIC, "t")
MAY_READ = Entry(ALICE, "*", Operation.READ, Permission.ALLOW)


class Fetching:
    request_name = "Fetch"


def may(authorizer: AclAuthorizer, principal: Principal, operation: Operation, name: str = "t") -> bool:
    return authorizer.may(principal, "1.1.1.1", operation, ResourceType.TOPIC, name, Fetching())


def test_nobody_but_super_users_may_do_anything_with_what_no_rule_is_about():
    authorizer = AclAuthorizer(Rules(), [ADMIN], allows_without_rules=False)
    assert may(authorizer, ADMIN, Operation.WRITE)
    assert not may(authorizer, ALICE, Operation.WRITE)
    assert authorizer.rights(ADMIN, "h", ResourceType.TOPIC, "t") == ALL_OPERATIONS
    assert authorizer.rights(ALICE, "h", ResourceType.TOPIC, "t") == 0


def test_everybody_may_where_no_rule_is_about_it_if_that_is_set():
    rules = Rules()
    authorizer = AclAuthorizer(rules, [], allows_without_rules=True)
    assert may(authorizer, ALICE, Operation.WRITE)
    rules.set(T, [MAY_READ])
    authorizer.forget()
    assert not may(authorizer, ALICE, Operation.WRITE)
    assert may(authorizer, ALICE, Operation.READ)
    assert may(authorizer, ALICE, Operation.WRITE, "other")


def test_a_decision_is_made_once_until_a_rule_changes():
    rules = Rules()
    authorizer = AclAuthorizer(rules, [], allows_without_rules=False)
    assert not may(authorizer, ALICE, Operation.READ)
    rules.set(T, [MAY_READ])
    assert not may(authorizer, ALICE, Operation.READ)
    authorizer.forget()
    assert may(authorizer, ALICE, Operation.READ)


def test_what_is_kept_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "MOST_DECISIONS", 10)
    authorizer = AclAuthorizer(Rules(), [ADMIN], allows_without_rules=False)
    for number in range(101):
        assert may(authorizer, ADMIN, Operation.READ, f"t{number}")
    assert sum(len(by_name) for by_type in authorizer._decisions.values() for by_name in by_type) == 1


def test_denials_are_logged_as_kafka_does(caplog):
    authorizer = AclAuthorizer(Rules(), [ADMIN], allows_without_rules=False)
    with caplog.at_level(logging.INFO, LOGGER_NAME):
        may(authorizer, ADMIN, Operation.READ)
        may(authorizer, Principal("User", "bob"), Operation.DESCRIBE_CONFIGS, "t-x")
    assert [record.getMessage() for record in caplog.records] == [
        "Principal = User:bob is Denied Operation = DescribeConfigs from host = 1.1.1.1 on resource = "
        "Topic:LITERAL:t-x for request = Fetch with resourceRefCount = 1"
    ]
    caplog.clear()
    with caplog.at_level(logging.DEBUG, LOGGER_NAME):
        may(authorizer, ADMIN, Operation.READ)
    assert "User:admin is Allowed Operation = Read" in caplog.records[0].getMessage()


def test_super_users_are_divided_by_semicolons():
    assert parse_super_users("User:CN=a,O=b; User:admin;") == {Principal("User", "CN=a,O=b"), ADMIN}
    assert parse_super_users(" ") == frozenset()
    with pytest.raises(ConfigError, match="but got admin"):
        parse_super_users("User:x;admin")
