"""Why was I refused: by access rules, and by what a broker kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.explain.finding import Certainty
from barnabas.explain.rules.refused import Question, explain_refused, may
from barnabas.explain.snapshot import Scope
from barnabas.wire.security.access_rules import Rules
from barnabas.wire.security.acls import ANYBODY, Binding, Entry, Pattern, PatternType, Permission
from barnabas.wire.security.authorizer import Operation, ResourceType
from barnabas.wire.security.principals import Principal
from tests.unit.explain.worlds import MINUTE_MS, NOW_MS, of, snapshot, verdicts

ALICE = Principal("User", "alice")
TOPIC = Pattern(ResourceType.TOPIC, "views")
WRITE = Scope(name="alice", operation="Write", topic="views")


def rule(permission=Permission.ALLOW, operation=Operation.WRITE, principal=ALICE, pattern=TOPIC, host="*"):
    return Binding(pattern, Entry(principal, host, operation, permission))


def asked(*rules, of_whom=WRITE):
    return explain_refused(snapshot(scope=of_whom, rules=list(rules)))


def test_who_is_allowed_is_told_by_which_rule() -> None:
    found = asked(rule())
    assert verdicts(found) == ["allowed"]
    assert found[0].text == ("User:alice may Write on topic views: Allow User:alice Write from host * on Topic views")


def test_a_rule_that_denies_wins_and_is_named() -> None:
    prefixed = Pattern(ResourceType.TOPIC, "vie", PatternType.PREFIXED)
    found = asked(rule(), rule(Permission.DENY, Operation.ALL, ANYBODY, prefixed))
    assert verdicts(found) == ["denied"]
    assert found[0].text.endswith("Deny User:* All from host * on prefixed Topic vie")


def test_a_right_that_is_missing_can_be_given() -> None:
    found = asked(rule(operation=Operation.READ), rule(principal=Principal("User", "bob")))
    assert verdicts(found) == ["right-missing"]
    assert "none of 2 rules about it grants that right" in found[0].text
    assert found[0].commands[0] == "barnabas acls --add --allow-principal User:alice --operation Write --topic views"


def test_a_rule_for_another_host_is_none() -> None:
    there = WRITE._replace(host="10.0.0.1")
    assert verdicts(asked(rule(host="10.0.0.2"), of_whom=there)) == ["right-missing"]
    assert verdicts(asked(rule(host="10.0.0.1"), of_whom=there)) == ["allowed"]


def test_without_a_rule_the_brokers_setting_decides() -> None:
    (found,) = asked(rule(pattern=Pattern(ResourceType.TOPIC, "other")))
    assert (found.verdict, found.certainty) == ("no-rule", Certainty.INFERRED)


@pytest.mark.parametrize(
    "wanted",
    [
        Scope(name="alice", operation="Read", group="g"),
        Scope(name="alice", operation="Describe", transactional_id="t"),
        Scope(user="alice", operation="Alter"),
    ],
)
def test_other_resources(wanted: Scope) -> None:
    assert verdicts(asked(of_whom=wanted)) == ["no-rule"]


def test_rules_that_are_not_told_leave_it_unknown() -> None:
    assert verdicts(explain_refused(snapshot(scope=WRITE))) == ["unknown"]


PATTERNS = st.builds(
    Pattern,
    st.just(ResourceType.TOPIC),
    st.sampled_from(["views", "vie", "v", "*", "other"]),
    st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
)
BINDINGS = st.builds(
    Binding,
    PATTERNS,
    st.builds(
        Entry,
        st.sampled_from([ALICE, ANYBODY, Principal("User", "bob")]),
        st.sampled_from(["*", "h1", "h2"]),
        st.sampled_from([Operation.READ, Operation.WRITE, Operation.DESCRIBE, Operation.ALL]),
        st.sampled_from([Permission.ALLOW, Permission.DENY]),
    ),
)


@given(st.lists(BINDINGS, max_size=6), st.sampled_from([Operation.READ, Operation.DESCRIBE]))
def test_the_verdict_is_always_the_brokers(bindings: list[Binding], operation: Operation) -> None:
    rules = Rules()
    for each in bindings:
        rules.set(each.pattern, rules.entries(each.pattern) | {each.entry})
    rights = rules.rights(ALICE, "h1", ResourceType.TOPIC, "views")
    found = may(snapshot(rules=bindings), Question(ALICE, "h1", operation, ResourceType.TOPIC, "views"))
    expected = {None: {"no-rule"}, False: {"denied", "right-missing"}, True: {"allowed"}}
    assert found.verdict in expected[None if rights is None else bool(rights >> operation & 1)]


def refusal(kind, **more):
    row = {
        "kind": kind,
        "user": "alice",
        "host": "10.0.0.7",
        "client_id": "app",
        "listener": "SASL",
        "reason": "it is so",
    }
    row |= {"mechanism": "PLAIN", "operation": "WRITE", "resource": "TOPIC", "name": "views", "count": 3}
    return {**row, "first_ms": NOW_MS - MINUTE_MS, "last_ms": NOW_MS, "broker_id": 1, **more}


def test_what_was_refused_comes_with_the_rule_that_follows() -> None:
    world = snapshot(facts={"refusals": [refusal("acl")]}, rules=[rule(Permission.DENY)])
    found = explain_refused(world)
    assert verdicts(found) == ["refused-acl", "denied"]
    assert found[0].text == "alice (app at 10.0.0.7) was denied WRITE on TOPIC views 3 times (request it is so)"


@pytest.mark.parametrize(
    ("mechanism", "text"),
    [
        ("PLAIN", "a login from app at 10.0.0.7 by PLAIN on listener SASL failed once: it is so"),
        ("TLS", "a login from app at 10.0.0.7 by TLS on listener SASL failed once: it is so"),
        (None, "a connection from app at 10.0.0.7 without a login on listener SASL failed once: it is so"),
    ],
)
def test_a_failed_login_names_no_user_that_is_not_known(mechanism, text) -> None:
    row = refusal("login", user=None, count=1, mechanism=mechanism)
    found = explain_refused(snapshot(facts={"refusals": [row]}))
    assert verdicts(found) == ["refused-login"]
    assert found[0].text == text
    assert found[0].subject == "host 10.0.0.7"


def test_users_are_listed_where_a_login_goes_by_them() -> None:
    commands = {
        mechanism: explain_refused(snapshot(facts={"refusals": [refusal("login", mechanism=mechanism)]}))[0].commands
        for mechanism in ("SCRAM-SHA-256", "OAUTHBEARER", None)
    }
    assert commands == {"SCRAM-SHA-256": ("barnabas users list",), "OAUTHBEARER": (), None: ()}


def test_a_limit_that_was_met() -> None:
    assert of(explain_refused(snapshot(facts={"refusals": [refusal("limit")]})), "refused-limit").text.endswith(
        "it is so of group views"
    )


def test_other_users_and_what_was_long_ago_are_left_out() -> None:
    rows = [refusal("acl", user="bob"), refusal("acl", last_ms=0)]
    assert verdicts(explain_refused(snapshot(name="alice", facts={"refusals": rows}))) == ["nothing-refused"]


def test_where_nobody_keeps_refusals_it_is_unknown() -> None:
    assert verdicts(explain_refused(snapshot(reporters=set()))) == ["unknown"]
