"""Which quota holds a run's client: as a broker explains it, and as it follows from all limits."""

import json

import pytest

from barnabas.broker.quotas.bucket import Windows
from barnabas.broker.quotas.explain import explain
from barnabas.broker.quotas.manager import Quotas
from barnabas.clients.admin_quota_states import Limited
from barnabas.pipeline.runner.quota import READ, WRITE, Quota, explained, resolved, user_of
from barnabas.wire.quotas.entities import Entity

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def told(quotas: Quotas):
    return json.loads(json.dumps({"broker_id": 3, **explain(quotas, None, "alice", "load", 5_000)}))


def test_what_a_broker_explains() -> None:
    quotas = Quotas(Windows(21, 500))
    assert explained(told(quotas), READ, is_counted=False) is None
    quotas.set_override(Entity("alice", None), READ, 1_048_576)
    quotas.pacers.note(READ, "alice", "other", "there", 1_000, 60_000)
    quota = explained(told(quotas), READ, is_counted=False)
    assert quota == Quota(READ, 3, 1_048_576, "user 'alice'", 2)
    assert str(quota) == "quota consumer_byte_rate 1,048,576 B/s of user 'alice' at broker 3, shared by 2 runs"
    assert explained(told(quotas), READ, is_counted=True).sharer_count == 1
    assert explained(told(quotas), WRITE, is_counted=True) is None


LIMITS = {
    Limited("alice", "load"): {"consumer_byte_rate": 1.0, "request_percentage": 50.0},
    Limited("alice", None): {"consumer_byte_rate": 3.0, "producer_byte_rate": 30.0},
    Limited("", "load"): {"consumer_byte_rate": 4.0},
    Limited(None, ""): {"consumer_byte_rate": 8.0},
}


@pytest.mark.parametrize(
    ("user", "client_id", "limit", "whose"),
    [
        ("alice", "load", 1.0, "user 'alice' and client id 'load'"),
        ("alice", "feed", 3.0, "user 'alice'"),
        ("bob", "load", 4.0, "the default user and client id 'load'"),
        ("bob", "feed", 8.0, "the default client id"),
    ],
)
def test_the_first_level_that_is_set_is_in_force(user: str, client_id: str, limit: float, whose: str) -> None:
    found = resolved(LIMITS, READ, user, client_id, [client_id], [0, 1])
    assert [(each.broker_id, each.limit, each.whose) for each in found] == [(0, limit, whose), (1, limit, whose)]


def test_a_kind_that_nobody_limits_is_not_limited() -> None:
    assert resolved(LIMITS, WRITE, "bob", "load", ["load"], [0]) == []


@pytest.mark.parametrize("limit", [0.0, -1.0])
def test_a_limit_that_holds_nobody_on_kafka_is_none(limit: float) -> None:
    limits = {Limited("alice", None): {"consumer_byte_rate": limit}, Limited(None, ""): {"consumer_byte_rate": 8.0}}
    assert resolved(limits, READ, "alice", "load", ["load"], [0, 1]) == []
    assert len(resolved(limits, READ, "bob", "load", ["load"], [0, 1])) == 2


def test_runs_of_one_process_share_what_is_counted_together() -> None:
    def sharers(client_id: str, *peers: str) -> int:
        (quota,) = resolved(LIMITS, READ, "alice", client_id, peers, [0])
        return quota.sharer_count

    assert sharers("feed", "feed", "ranking", "load") == 2
    assert sharers("load", "feed", "ranking", "load") == 1
    assert sharers("load", "load", "load") == 2


@pytest.mark.parametrize(
    ("options", "user"),
    [
        ({}, "ANONYMOUS"),
        ({"security.protocol": "SSL", "ssl.truststore.location": "x"}, "ANONYMOUS"),
        ({"security.protocol": "SSL", "ssl.keystore.location": "x"}, None),
        (
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": f'{PLAIN} required username="a" password="p";',
            },
            "a",
        ),
        (
            {
                "security.protocol": "sasl_plaintext",
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.jaas.config": f'{SCRAM} required username="b" password="p";',
            },
            "b",
        ),
        (
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "SCRAM-SHA-256",
                "sasl.jaas.config": f'{SCRAM} required username="id" password="p" tokenauth="true";',
            },
            None,
        ),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}, None),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, None),
    ],
)
def test_who_a_login_is_to_the_broker(options: dict[str, str], user: str | None) -> None:
    assert user_of(options) == user


def test_an_answer_is_no_larger_than_ten_seconds_worth() -> None:
    assert Quota(READ, 0, 26_214.4, "me").most_answer_bytes == 262_144
