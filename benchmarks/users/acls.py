"""Checks of access rules on a broker with 10,000 rules.

The cost of a check is the cost of a topic in a ListOffsets request, minus its cost without rules. The broker checks
whether the principal may describe the topic, and answers that it does not exist. The rules are like a company's: half
of them name topics of teams, the others prefixes; one of these lets the benchmark's client describe its topics.
"""

import time
from collections.abc import Callable, Iterator
from itertools import count

from barnabas.wire.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.wire.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from benchmarks.load.lines import Line
from benchmarks.load.process import CPU_MICRO, cpu
from benchmarks.log_numbers.brokers import Measured
from benchmarks.whole.wire import Peer

Figures = dict[str, float]

_RULE_COUNT, _RULES_PER_REQUEST = 10_000, 500
_TOPICS_PER_REQUEST = 200
# A JVM continues compiling during this many requests.
_WARMUP_COUNT, _REQUEST_COUNT = 1_500, 300
_TOPIC, _LITERAL, _PREFIXED, _READ, _DESCRIBE, _ALLOW = 2, 3, 4, 3, 8, 3
_LATEST = -1
# Without this, the first rule about the cluster would also deny access to the benchmark.
_WITH_RULES = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}

LINES = (
    Line("acl_check_us", f"a check with {_RULE_COUNT:,} access rules: {CPU_MICRO}", 2, 1.0),
    Line("acl_first_check_us", f"the same of a topic that was never asked about: {CPU_MICRO}", 2),
    Line("acl_topic_us", f"a topic of ListOffsets without access rules: {CPU_MICRO}", 2),
    Line("acl_create_ms", "creating an access rule, 500 in a request: ms", 2),
)


def checks(new_broker: Callable[[dict[str, str]], Measured]) -> Figures:
    """ListOffsets of missing topics, with 10,000 rules and without rules."""
    numbers = count(1_000_000)
    again = [[f"bench-{number}" for number in range(_TOPICS_PER_REQUEST)]] * _REQUEST_COUNT
    fresh = [[f"bench-{next(numbers)}" for _ in range(_TOPICS_PER_REQUEST)] for _ in range(_REQUEST_COUNT)]
    plain = new_broker({})
    try:
        plain.start()
        topic_us = _topic_us(plain, again)
    finally:
        plain.close()
    broker = new_broker(_WITH_RULES)
    try:
        broker.start()
        start = time.perf_counter()
        _create_rules(broker)
        created_s = time.perf_counter() - start
        check_us = _topic_us(broker, again) - topic_us
        return {
            "acl_topic_us": topic_us,
            "acl_check_us": check_us,
            "acl_first_check_us": _topic_us(broker, fresh, 0) - topic_us,
            "acl_create_ms": created_s / _RULE_COUNT * 1e3,
        }
    finally:
        broker.close()


def _create_rules(broker: Measured) -> None:
    peer = Peer(broker.address)
    rules = list(_rules())
    for start in range(0, len(rules), _RULES_PER_REQUEST):
        answer = peer.ask(CreateAclsRequest(rules[start : start + _RULES_PER_REQUEST]), 2)
        errors = {result.error_code for result in answer.results}
        if errors != {0}:
            raise RuntimeError(f"access rules could not be created: {sorted(errors)}")
    peer.close()


def _rules() -> Iterator[AclCreation]:
    yield AclCreation(_TOPIC, "bench-", _PREFIXED, "User:ANONYMOUS", "*", _DESCRIBE, _ALLOW)
    for number in range(_RULE_COUNT - 1):
        team = f"team-{number % 1_000}"
        if number % 2:
            yield AclCreation(_TOPIC, f"{team}-{number}", _LITERAL, f"User:{team}", "*", _READ, _ALLOW)
        else:
            # Prefixes of different lengths.
            prefix = f"{team}-{'x' * (number % 20)}{number}"
            yield AclCreation(_TOPIC, prefix, _PREFIXED, f"User:{team}", "*", _READ, _ALLOW)


def _topic_us(broker: Measured, requests: list[list[str]], warmup_count: int = _WARMUP_COUNT) -> float:
    """Return the broker's CPU per topic of the requests; the first request is sent repeatedly as a warm-up."""
    peer = Peer(broker.address)
    for _ in range(warmup_count):
        _ask(peer, requests[0])
    before_s = cpu(broker.pid)
    for names in requests:
        _ask(peer, names)
    used_s = cpu(broker.pid) - before_s
    peer.close()
    return used_s / sum(map(len, requests)) * 1e6


def _ask(peer: Peer, names: list[str]) -> None:
    topics = [ListOffsetsTopic(name, [ListOffsetsPartition(0, -1, _LATEST, 1)]) for name in names]
    answer = peer.ask(ListOffsetsRequest(-1, 0, topics), 5)
    errors = {partition.error_code for topic in answer.topics for partition in topic.partitions}
    if errors != {3}:
        raise RuntimeError(f"list offsets: errors {sorted(errors)}")
