"""Which verdicts count, and whom they are about for Kafka."""

from dataclasses import replace

import pytest

from barnabas.pipeline.enforcement.entry import Entity, Verdict
from barnabas.pipeline.enforcement.policy import (
    EntityTemplate,
    Policy,
    parse_limits,
    parse_template,
    wanted,
)
from barnabas.pipeline.runner.plan import PlanError

NOW = 1_000_000
SPAMMER = Verdict("user", "mallory", "spammer", 0.8, "posts", NOW - 10, NOW + 10, user="mallory")
STUFFER = Verdict("address", "192.0.2.7", "credential_stuffing", 0.6, "names", NOW - 10, NOW + 10, address="192.0.2.7")
CRAWLER = Verdict(
    "visitor", "192.0.2.8 curl/8", "crawler", 1.0, "pace", NOW - 10, NOW + 10, address="192.0.2.8", agent="curl/8"
)


def accused(policy: Policy, *verdicts: Verdict) -> dict[Entity, Verdict]:
    return {entity: target.verdict for entity, target in wanted(verdicts, policy, NOW).items()}


def test_wanted_limits_end_with_the_verdict_or_with_their_time():
    assert wanted([SPAMMER], Policy({"request_percentage": 5.0}, 3), NOW) == {
        Entity("user", "mallory"): ({"request_percentage": 5.0}, NOW + 3, SPAMMER)
    }
    (target,) = wanted([SPAMMER], Policy(limit_for_ms=30), NOW).values()
    assert target.until_ms == SPAMMER.until_ms


def test_only_users_are_known_to_kafka_unless_told():
    assert accused(Policy(), SPAMMER, STUFFER, CRAWLER) == {Entity("user", "mallory"): SPAMMER}


def test_other_subjects_are_known_as_they_are_mapped():
    entities = {
        "address": parse_template("address", "client-id:web-{address}"),
        "visitor": parse_template("visitor", "client-id:{agent}@{address}"),
    }
    assert accused(Policy(entities=entities), SPAMMER, STUFFER, CRAWLER) == {
        Entity("client-id", "web-192.0.2.7"): STUFFER,
        Entity("client-id", "curl/8@192.0.2.8"): CRAWLER,
    }


@pytest.mark.parametrize(
    "verdict",
    [
        replace(SPAMMER, what="declared_bot"),
        replace(SPAMMER, score=0.49),
        replace(SPAMMER, until_ms=NOW),
        replace(SPAMMER, user="ANONYMOUS", subject="ANONYMOUS"),
        replace(SPAMMER, user=None),
        replace(SPAMMER, user=""),
        replace(SPAMMER, user="."),
        replace(SPAMMER, user=".."),
    ],
)
def test_who_is_not_limited(verdict):
    assert accused(Policy(), verdict) == {}


def test_who_has_a_name_that_no_client_can_have_is_not_limited():
    longest = "é" * 16_383
    found = accused(Policy(), replace(SPAMMER, user=f"{longest}x"), replace(SPAMMER, user=f"{longest}xx"))
    assert list(found) == [Entity("user", f"{longest}x")]


@pytest.mark.parametrize(("agent", "is_limited"), [(".", False), ("..", False), ("...", True), (".curl", True)])
def test_who_has_the_name_of_a_directory_is_not_limited(agent: str, is_limited: bool):
    entities = {"visitor": parse_template("visitor", "client-id:{agent}")}
    found = accused(Policy(entities=entities), replace(CRAWLER, agent=agent))
    assert list(found) == ([Entity("client-id", agent)] if is_limited else [])


def test_never_is_by_the_name_that_kafka_knows():
    policy = Policy(never=frozenset({"mallory", "web-192.0.2.7"}))
    entities = {"user": EntityTemplate("user", "{user}"), "address": EntityTemplate("client-id", "web-{address}")}
    assert accused(replace(policy, entities=entities), SPAMMER, STUFFER) == {}


def test_of_several_verdicts_against_one_the_surest_counts_in_whatever_order():
    entities = {"visitor": EntityTemplate("client-id", "{agent}")}
    surer = replace(CRAWLER, address="192.0.2.9", score=1.0, last_seen_ms=NOW)
    less = replace(CRAWLER, score=0.7, last_seen_ms=NOW + 5)
    for verdicts in ([surer, less, CRAWLER], [CRAWLER, less, surer]):
        assert accused(Policy(entities=entities), *verdicts) == {Entity("client-id", "curl/8"): surer}


def test_a_name_with_braces_stands_for_itself():
    verdict = replace(SPAMMER, user="{address}", subject="{address}")
    assert list(accused(Policy(), verdict)) == [Entity("user", "{address}")]


def test_limits():
    given = {"producer_byte_rate": "1024", "request_percentage": "0.5"}
    assert parse_limits(given) == {"producer_byte_rate": 1024.0, "request_percentage": 0.5}
    for name, text in [
        ("producer_rate", "1"),
        ("producer_byte_rate", "0"),
        ("producer_byte_rate", "1.5"),
        ("consumer_byte_rate", "-1"),
        ("consumer_byte_rate", "many"),
        ("request_percentage", "nan"),
        ("request_percentage", "inf"),
    ]:
        with pytest.raises(PlanError, match=name):
            parse_limits({name: text})


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        ("bot", "user", "subject kind 'bot'"),
        ("user", "principal", "write user or client-id"),
        ("user", "user:", "write user or client-id"),
        ("user", "user:{name}", "no part {name}"),
    ],
)
def test_what_is_no_template(kind, text, reason):
    with pytest.raises(PlanError, match=reason):
        parse_template(kind, text)


def test_templates():
    assert parse_template("agent", "client-id") == EntityTemplate("client-id", "{subject}")
    assert parse_template("user", "user:site-{user}") == EntityTemplate("user", "site-{user}")
