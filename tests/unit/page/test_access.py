"""What the page tells of users and rules, and its answers to "may he?"."""

import pytest

from barnabas.page.views.access import Form, answer_to, form_of, user_rows
from barnabas.wire.security.acls import Binding, Entry, Pattern, PatternType, Permission
from barnabas.wire.security.authorizer import Operation, ResourceType
from barnabas.wire.security.principals import Principal
from tests.unit.explain.worlds import snapshot

ALICE = Principal("User", "alice")
READS = Binding(Pattern(ResourceType.TOPIC, "orders"), Entry(ALICE, "*", Operation.READ, Permission.ALLOW))
WORLD = snapshot(rules=[READS])


def asks(user="alice", operation="Read", resource_type="topic", name="orders", host=""):
    return answer_to(WORLD, Form(user, operation, resource_type, name, host))


@pytest.mark.parametrize(
    ("form", "verdict"),
    [
        ({}, "allowed"),
        ({"user": "User:alice"}, "allowed"),
        ({"host": "10.0.0.1"}, "allowed"),
        ({"operation": "Describe"}, "allowed"),
        ({"operation": "Write"}, "right-missing"),
        ({"user": "bob"}, "right-missing"),
        ({"name": "other"}, "no-rule"),
        ({"operation": "Create", "resource_type": "cluster", "name": ""}, "no-rule"),
        ({"operation": "Write", "resource_type": "transactional id", "name": "t"}, "no-rule"),
    ],
)
def test_may_he_is_answered_by_rules(form, verdict):
    problem, answer = asks(**form)
    assert (problem, answer.verdict) == ("", verdict)


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ({"operation": "Eat"}, "The operation Eat does not exist."),
        ({"operation": ""}, "The operation (empty) does not exist."),
        ({"resource_type": "x"}, "The resource type x does not exist."),
        (
            {"operation": "Write", "resource_type": "group"},
            "Write does not apply to a group; use Read, Delete, Describe.",
        ),
        ({"name": ""}, "Name the topic."),
    ],
)
def test_what_makes_no_sense_is_one_clear_error(form, problem):
    assert asks(**form) == (problem, None)


def test_nothing_is_answered_where_nobody_is_asked_about():
    assert form_of({"user": "  ", "find": "x"}) == ("", "", "", "", "")
    assert answer_to(WORLD, form_of({})) == ("", None)


def test_without_rules_the_answer_is_unknown():
    assert answer_to(snapshot(), Form("alice", "Read", "topic", "orders", ""))[1].verdict == "unknown"
    assert user_rows(snapshot(), {"alice": {}})[0].rule_count is None


def test_users_have_their_mechanisms_and_how_many_rules_name_them():
    alice, bob = user_rows(WORLD, {"bob": {"SCRAM-SHA-512": 8192}, "alice": {"SCRAM-SHA-256": 4096}})
    assert (alice.name, alice.mechanisms, alice.rule_count) == ("alice", {"SCRAM-SHA-256": 4096}, 1)
    assert (bob.name, bob.rule_count) == ("bob", 0)


def test_a_rule_is_a_row_as_kafkas_tools_have_it():
    prefixed = READS._replace(pattern=Pattern(ResourceType.GROUP, "bill", PatternType.PREFIXED))
    assert list(prefixed.as_row().values()) == ["GROUP", "bill", "PREFIXED", "User:alice", "*", "READ", "ALLOW"]
