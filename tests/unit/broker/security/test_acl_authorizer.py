"""Decisions by access rules: super users, what no rule is about, what is kept, and what is logged."""

import logging
import sys

import pytest

from barnabas.broker.security.acls import authorizer as module
from barnabas.broker.security.acls.authorizer import LOGGER_NAME, AclAuthorizer, parse_super_users
from barnabas.core.errors import ConfigError
from barnabas.wire.security.access_rules import Rules
from barnabas.wire.security.acls import Entry, Pattern, Permission
from barnabas.wire.security.authorizer import ALL_OPERATIONS, Operation, ResourceType
from barnabas.wire.security.principals import Principal

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


def test_a_decision_is_for_one_host():
    rules = Rules()
    rules.set(T, [Entry(ALICE, "1.1.1.1", Operation.READ, Permission.ALLOW)])
    authorizer = AclAuthorizer(rules, [], allows_without_rules=False)
    hosts = ["1.1.1.1", "2.2.2.2", "1.1.1.1"]
    decided = [authorizer.may(ALICE, host, Operation.READ, ResourceType.TOPIC, "t", Fetching()) for host in hosts]
    assert decided == [True, False, True]


def kept_bytes(authorizer: AclAuthorizer) -> int:
    """What Python's own accounting says of all decisions."""
    decisions = authorizer._decisions
    total = sys.getsizeof(decisions)
    for who, by_type in decisions.items():
        total += sys.getsizeof(who) + sys.getsizeof(who[1]) + sys.getsizeof(by_type)
        for by_name in by_type:
            total += sys.getsizeof(by_name) + sum(map(sys.getsizeof, by_name)) + 32 * len(by_name)
    return total


@pytest.mark.parametrize("name", ["t{}", "t{}" + 900 * "x", "{}" + 900 * "\U0001f600"])
def test_what_is_kept_is_bounded_in_bytes(monkeypatch, name):
    monkeypatch.setattr(module, "MOST_DECISION_BYTES", 1_000_000)
    authorizer = AclAuthorizer(Rules(), [ADMIN], allows_without_rules=False)
    most_bytes = 0
    for number in range(9_000):
        assert may(authorizer, ADMIN, Operation.READ, name.format(number))
        if number % 100 == 0:
            most_bytes = max(most_bytes, kept_bytes(authorizer))
    assert 500_000 < most_bytes < 1_000_000


def test_whoever_asks_and_from_wherever_what_is_kept_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "MOST_DECISION_BYTES", 1_000_000)
    authorizer = AclAuthorizer(Rules(), [ADMIN], allows_without_rules=False)
    most_bytes = 0
    for number in range(2_000):
        host = f"2001:db8:0:0:0:0:0:{number:x}"
        assert not authorizer.may(Principal("User", f"u{number}"), host, Operation.READ, ResourceType.TOPIC, "t")
        most_bytes = max(most_bytes, kept_bytes(authorizer)) if number % 100 == 0 else most_bytes
    assert 500_000 < most_bytes < 1_000_000


def test_what_is_asked_by_a_very_long_name_leaves_no_trace():
    authorizer = AclAuthorizer(Rules(), [ADMIN], allows_without_rules=True)
    assert may(authorizer, ALICE, Operation.READ, "t")
    before = kept_bytes(authorizer)
    for number in range(100):
        assert may(authorizer, ALICE, Operation.READ, f"{number}" + 1_000 * "x")
    assert kept_bytes(authorizer) == before


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
