"""What Kafka writes about access rules is read, and written as Kafka writes it; what makes no sense is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.security.acls.znodes import (
    decode_entries,
    decode_literal_change,
    decode_prefixed_change,
    encode_change,
    encode_entries,
    has_path,
    path_of,
)
from barnabas.wire.registry.znodes.payload import MalformedError
from barnabas.wire.security.acls import Entry, Pattern, PatternType, Permission
from barnabas.wire.security.authorizer import Operation, ResourceType
from barnabas.wire.security.principals import Principal

ALICE = Principal("User", "alice")
ENTRY = Entry(ALICE, "*", Operation.READ, Permission.ALLOW)
# As Kafka 2.7.2 wrote it.
DATA = b'{"version":1,"acls":[{"principal":"User:alice","permissionType":"Allow","operation":"Read","host":"*"}]}'
PREFIXED = Pattern(ResourceType.TRANSACTIONAL_ID, "tx-", PatternType.PREFIXED)


def test_rules_are_as_kafka_writes_them():
    assert encode_entries([ENTRY]) == DATA
    assert decode_entries(DATA) == {ENTRY}
    assert decode_entries(None) == decode_entries(b"") == decode_entries(b'{"version":1,"acls":[]}') == frozenset()
    every = frozenset(
        Entry(ALICE, "1.1.1.1", operation, permission)
        for operation in Operation
        if operation is not Operation.ANY
        for permission in (Permission.ALLOW, Permission.DENY)
    )
    assert decode_entries(encode_entries(every)) == every
    assert b'"IdempotentWrite"' in encode_entries(every)


@pytest.mark.parametrize(
    "data",
    [
        b"no json",
        b"\xff",
        b"[" * 100_000,
        b"[]",
        b"{}",
        b'{"version":2,"acls":[]}',
        b'{"version":1}',
        b'{"version":1,"acls":{}}',
        b'{"version":1,"acls":["x"]}',
        DATA.replace(b"User:alice", b"alice"),
        DATA.replace(b'"User:alice"', b"7"),
        DATA.replace(b'"User:alice"', b'"User:\\ud800"'),
        DATA.replace(b"Allow", b"Perhaps"),
        DATA.replace(b"Allow", b"Any"),
        DATA.replace(b"Read", b"Any"),
        DATA.replace(b"Read", b"read"),
        DATA.replace(b',"host":"*"', b""),
    ],
)
def test_rules_that_are_not_all_understood_do_not_count_at_all(data):
    with pytest.raises(MalformedError):
        decode_entries(data)


def test_paths_and_notifications_are_those_of_kafka():
    topic = Pattern(ResourceType.TOPIC, "a:b")
    assert path_of(topic) == "/kafka-acl/Topic/a:b"
    assert path_of(PREFIXED) == "/kafka-acl-extended/prefixed/TransactionalId/tx-"
    assert encode_change(topic) == b"TOPIC:a:b"
    assert (
        encode_change(PREFIXED)
        == b'{"version":1,"resourceType":"TRANSACTIONAL_ID","name":"tx-","patternType":"PREFIXED"}'
    )
    assert decode_literal_change(b"TOPIC:a:b") == decode_literal_change(b"Topic:a:b") == topic
    assert decode_prefixed_change(encode_change(PREFIXED)) == PREFIXED


@pytest.mark.parametrize("data", [None, b"", b"TOPIC", b"NOTHING:x", b"\xff:x", b"TOPIC:", b"TOPIC:a/b", b"TOPIC:.."])
def test_a_notification_of_nothing_is_told_apart(data):
    with pytest.raises(MalformedError):
        decode_literal_change(data)
    with pytest.raises(MalformedError):
        decode_prefixed_change(data)


@pytest.mark.parametrize("change", [b'"patternType":"LITERAL"', b'"patternType":7', b'"x":1'])
def test_a_notification_of_another_kind_of_pattern_is_told_apart(change):
    with pytest.raises(MalformedError):
        decode_prefixed_change(encode_change(PREFIXED).replace(b'"patternType":"PREFIXED"', change))


@given(st.binary() | st.text().map(str.encode))
def test_no_bytes_break_the_readers(data):
    for decode in (decode_entries, decode_literal_change, decode_prefixed_change):
        try:
            decode(data)
        except MalformedError:
            continue


@pytest.mark.parametrize("name", ["a/b", "/", ".", "..", "x\ty", "\ue000", ""])
def test_a_name_that_zookeeper_takes_in_no_path_has_none(name):
    assert not has_path(Pattern(ResourceType.GROUP, name))
    assert has_path(Pattern(ResourceType.GROUP, "ü ü"))
