"""What follows from access rules: held against Kafka's way of deciding, written down as it is said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.wire.security.access_rules import Rules
from barnabas.wire.security.acls import (
    ANYBODY,
    Binding,
    BindingFilter,
    Entry,
    EntryFilter,
    Pattern,
    PatternFilter,
    PatternType,
    Permission,
)
from barnabas.wire.security.authorizer import ALL_OPERATIONS, Operation, ResourceType
from barnabas.wire.security.principals import Principal, parse_principal

ALICE, BOB = Principal("User", "alice"), Principal("User", "bob")
TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
ALLOW, DENY = Permission.ALLOW, Permission.DENY
ASKED = [each for each in Operation if each not in (Operation.ANY, Operation.ALL)]


def kafka_allows(bindings, principal, host, operation, resource_type, name) -> bool | None:
    """The decision as Kafka's documentation has it, over a list of all rules; None: no rule is about the resource."""
    about = [
        entry
        for pattern, entry in bindings
        if pattern.resource_type is resource_type
        and (
            name.startswith(pattern.name)
            if pattern.pattern_type is PatternType.PREFIXED
            else pattern.name in (name, "*")
        )
    ]
    if not about:
        return None

    def is_there(wanted, permission) -> bool:
        return any(
            entry.permission is permission
            and entry.principal in (principal, ANYBODY)
            and entry.host in (host, "*")
            and entry.operation in (wanted, Operation.ALL)
            for entry in about
        )

    implying = {
        Operation.DESCRIBE: [Operation.DESCRIBE, Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER],
        Operation.DESCRIBE_CONFIGS: [Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS],
    }.get(operation, [operation])
    return not is_there(operation, DENY) and any(is_there(each, ALLOW) for each in implying)


names = st.text("ab*", min_size=1, max_size=3)
entries = st.builds(
    Entry,
    st.sampled_from([ALICE, BOB, ANYBODY]),
    st.sampled_from(["*", "1.1.1.1"]),
    st.sampled_from([each for each in Operation if each is not Operation.ANY]),
    st.sampled_from([ALLOW, DENY]),
)
patterns = st.builds(
    Pattern, st.sampled_from([TOPIC, GROUP]), names, st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED])
)


@given(st.lists(st.tuples(patterns, st.frozensets(entries, max_size=3)), max_size=12))
def test_every_decision_is_that_of_kafka_whatever_was_set_before(said):
    rules = Rules()
    for pattern, each in said:
        rules.set(pattern, each)
    bindings = [Binding(pattern, entry) for pattern, each in dict(said).items() for entry in each]
    assert len(rules) == len(bindings)
    assert sorted(rules.select(BindingFilter())) == sorted(bindings)
    for principal in (ALICE, BOB):
        for host in ("1.1.1.1", "2.2.2.2"):
            for name in ("a", "ab", "b*", "c"):
                rights = rules.rights(principal, host, TOPIC, name)
                for operation in ASKED:
                    expected = kafka_allows(bindings, principal, host, operation, TOPIC, name)
                    assert (None if rights is None else bool(rights >> operation & 1)) == expected


def test_a_prefixed_rule_that_was_removed_is_gone():
    rules = Rules()
    pattern = Pattern(TOPIC, "a", PatternType.PREFIXED)
    rules.set(pattern, [Entry(ALICE, "*", Operation.READ, ALLOW)])
    assert rules.rights(ALICE, "h", TOPIC, "ab") == 1 << Operation.READ | 1 << Operation.DESCRIBE
    rules.set(pattern, [])
    assert rules.rights(ALICE, "h", TOPIC, "ab") is None


def test_a_denied_read_denies_no_other_operation():
    rules = Rules()
    entries = [Entry(ALICE, "*", Operation.ALL, ALLOW), Entry(ALICE, "*", Operation.READ, DENY)]
    rules.set(Pattern(TOPIC, "a", PatternType.LITERAL), entries)
    rights = rules.rights(ALICE, "h", TOPIC, "a")
    assert not rights >> Operation.READ & 1
    assert rights >> Operation.DESCRIBE & 1
    assert rights >> Operation.WRITE & 1


def test_what_cannot_be_read_is_closed_until_it_can():
    rules = Rules()
    pattern = Pattern(TOPIC, "a")
    rules.set(Pattern(TOPIC, "*"), [Entry(ANYBODY, "*", Operation.ALL, ALLOW)])
    rules.close(pattern)
    assert rules.rights(ALICE, "h", TOPIC, "a") == 0
    assert rules.rights(ALICE, "h", TOPIC, "b") == ALL_OPERATIONS
    assert pattern in rules.patterns
    rules.set(pattern, [])
    assert rules.rights(ALICE, "h", TOPIC, "a") == ALL_OPERATIONS
    rules.close(Pattern(TOPIC, "", PatternType.PREFIXED))
    assert rules.rights(ALICE, "h", TOPIC, "b") == 0
    assert rules.rights(ALICE, "h", GROUP, "b") is None


LITERAL, PREFIXED = Pattern(TOPIC, "ab"), Pattern(TOPIC, "a", PatternType.PREFIXED)
ANYTHING, STAR_PREFIX = Pattern(TOPIC, "*"), Pattern(TOPIC, "*", PatternType.PREFIXED)


@pytest.mark.parametrize(
    ("wanted", "selected"),
    [
        (PatternFilter(), {LITERAL, PREFIXED, ANYTHING, STAR_PREFIX}),
        (PatternFilter(GROUP), set()),
        (PatternFilter(TOPIC, "ab", PatternType.MATCH), {LITERAL, PREFIXED, ANYTHING}),
        (PatternFilter(TOPIC, "x", PatternType.MATCH), {ANYTHING}),
        (PatternFilter(TOPIC, "*", PatternType.MATCH), {ANYTHING, STAR_PREFIX}),
        (PatternFilter(TOPIC, "a", PatternType.ANY), {PREFIXED}),
        (PatternFilter(TOPIC, "*", PatternType.ANY), {ANYTHING, STAR_PREFIX}),
        (PatternFilter(TOPIC, None, PatternType.PREFIXED), {PREFIXED, STAR_PREFIX}),
        (PatternFilter(TOPIC, None, PatternType.MATCH), {LITERAL, PREFIXED, ANYTHING, STAR_PREFIX}),
        (PatternFilter(TOPIC, "ab", PatternType.LITERAL), {LITERAL}),
        (PatternFilter(TOPIC, "ab", PatternType.PREFIXED), set()),
        (PatternFilter(ResourceType.ANY, "ab", PatternType.LITERAL), {LITERAL}),
    ],
)
def test_a_filter_of_patterns_selects_as_kafkas_does(wanted, selected):
    rules = Rules()
    entry = Entry(ALICE, "*", Operation.READ, ALLOW)
    for pattern in (LITERAL, PREFIXED, ANYTHING, STAR_PREFIX):
        rules.set(pattern, [entry])
    assert {binding.pattern for binding in rules.select(BindingFilter(wanted))} == selected
    assert wanted.only is None or selected <= {wanted.only}


@pytest.mark.parametrize(
    ("wanted", "is_selected"),
    [
        (EntryFilter(), True),
        (EntryFilter("User:alice", "*", Operation.READ, ALLOW), True),
        (EntryFilter("User:bob"), False),
        (EntryFilter("User:*"), False),
        (EntryFilter(None, "1.1.1.1"), False),
        (EntryFilter(None, None, Operation.ALL), False),
        (EntryFilter(None, None, Operation.ANY, DENY), False),
    ],
)
def test_a_filter_of_entries_takes_what_it_names_to_the_letter(wanted, is_selected):
    assert wanted.selects(Entry(ALICE, "*", Operation.READ, ALLOW)) == is_selected


def test_only_the_first_colon_of_a_principal_counts():
    assert parse_principal("User:CN=a:b,O=c") == Principal("User", "CN=a:b,O=c")
    assert parse_principal(":") == Principal("", "")
    with pytest.raises(ValueError, match="principalType:principalName but got nobody"):
        parse_principal("nobody")


@pytest.mark.parametrize(
    ("said", "host", "is_denied"),
    [
        ("::1", "0:0:0:0:0:0:0:1", True),
        ("::ffff:1.1.1.1", "1.1.1.1", True),
        ("FE80::1", "fe80:0:0:0:0:0:0:1%2", True),
        ("fe80::1%2", "fe80:0:0:0:0:0:0:1%2", True),
        ("fe80::1%3", "fe80:0:0:0:0:0:0:1%2", False),
        ("::2", "0:0:0:0:0:0:0:1", False),
    ],
)
def test_a_host_is_meant_however_it_is_written(said, host, is_denied):
    rules = Rules()
    denial = Entry(ANYBODY, said, Operation.ALL, DENY)
    rules.set(Pattern(TOPIC, "t"), [Entry(ALICE, "*", Operation.READ, ALLOW), denial])
    assert rules.rights(ALICE, host, TOPIC, "t") == (0 if is_denied else 1 << Operation.READ | 1 << Operation.DESCRIBE)
    # What was asked for is told as it was.
    assert denial in rules.entries(Pattern(TOPIC, "t"))
