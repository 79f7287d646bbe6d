"""What happens on a broker, noted where it happens."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.diagnostics.events import Events
from barnabas.broker.diagnostics.store import DiagnosticStore
from barnabas.broker.log.environment import Going
from barnabas.broker.net.connection_quotas import ConnectionQuotas
from barnabas.broker.quotas.bucket import Windows
from barnabas.broker.quotas.manager import Quotas
from barnabas.broker.requests.context import ConnectionInfo, RequestContext
from barnabas.broker.requests.throttled_connections import ThrottledConnections
from barnabas.broker.security.acls.authorizer import AclAuthorizer
from barnabas.broker.server.diagnostic_callbacks import DiagnosticCallbacks
from barnabas.broker.server.watchdog import IDLE_INTERVAL_MS, Watchdog
from barnabas.core.config import BrokerConfig
from barnabas.core.types import TopicPartition
from barnabas.explain.answers import complaints
from barnabas.testing.manual_clock import ManualClock
from barnabas.wire.quotas.entities import Entity
from barnabas.wire.quotas.limits import QuotaKind
from barnabas.wire.security.access_rules import Rules
from barnabas.wire.security.authorizer import Operation, ResourceType
from barnabas.wire.security.principals import Principal
from tests.unit.broker.requests.conftest import data_path, make_data_path  # noqa: F401  # fixtures
from tests.unit.broker.server.test_watchdog import SlowTimers

SCHEMA = json.loads((Path(__file__).parents[4] / "src/barnabas/explain/facts.json").read_text())


class Noted:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.diagnostics = DiagnosticStore(1_000_000, 0)
        self.notes = DiagnosticCallbacks(self.diagnostics, self.clock)


@pytest.fixture
def noted() -> Iterator[Noted]:
    noted = Noted()
    yield noted
    kept = noted.diagnostics
    subjects = {"holds": kept.throttles, "refusals": kept.refusals, "leaders": kept.leaders, "stalls": kept.stalls}
    for subject, events in subjects.items():
        for row in rows(events):
            assert complaints(row, SCHEMA["$defs"][subject], SCHEMA["$defs"]) == []


def rows(events: Events) -> list[dict[str, Any]]:
    return [json.loads(line) for line in events.lines()]


def test_holds_of_a_minute_are_one_row(noted: Noted) -> None:
    quotas = Quotas(Windows(11, 1_000))
    quotas.set_override(Entity(None, "app"), QuotaKind.PRODUCE, 1_000)
    throttled = ThrottledConnections(quotas, noted.clock, noted.clock)
    throttled.on_throttle = noted.notes.throttle
    client = quotas.enter("alice", "app", 0)
    bucket = client.bucket(QuotaKind.PRODUCE, noted.clock.monotonic_ms())
    began_ms = noted.clock.now_ms()
    for throttle_ms in (100, 300, 200):
        throttled.begin(client, bucket, throttle_ms, lambda: None)
        noted.clock.advance(1_000)
    throttled.begin(client, None, 5, lambda: None)
    assert rows(noted.diagnostics.throttles) == [
        {
            "first_ms": began_ms,
            "last_ms": began_ms + 2_000,
            "count": 3,
            "user": "alice",
            "client_id": "app",
            "quota": "producer_byte_rate",
            "throttle_ms": 300,
            "total_ms": 600,
        },
        {
            "first_ms": began_ms + 3_000,
            "last_ms": began_ms + 3_000,
            "count": 1,
            "user": "alice",
            "client_id": "app",
            "quota": None,
            "throttle_ms": 5,
            "total_ms": 5,
        },
    ]


def test_denials_are_counted(noted: Noted, data_path: Any) -> None:  # noqa: F811
    authorizer = AclAuthorizer(Rules(), (), allows_without_rules=False)
    authorizer.on_denied = noted.notes.denial
    alice = Principal("User", "alice")
    info = ConnectionInfo("10.1.2.3", 5_000, "EXTERNAL", alice, sasl_mechanism="PLAIN")
    data_path.services.authorizer = authorizer
    ctx = RequestContext(data_path.services, info, "app", 0, 1)
    for _ in range(2):
        assert not ctx.may(Operation.WRITE, ResourceType.TOPIC, "orders")
    assert not ctx.may_unlogged(Operation.READ, ResourceType.TOPIC, "orders")
    assert not authorizer.may(alice, "10.1.2.3", Operation.READ, ResourceType.GROUP, "g")
    first, second = rows(noted.diagnostics.refusals)
    assert first == {
        "first_ms": noted.clock.now_ms(),
        "last_ms": noted.clock.now_ms(),
        "count": 2,
        "kind": "acl",
        "user": "alice",
        "host": "10.1.2.3",
        "client_id": "app",
        "listener": "EXTERNAL",
        "mechanism": "PLAIN",
        "reason": "",
        "operation": "WRITE",
        "resource": "TOPIC",
        "name": "orders",
    }
    assert (second["operation"], second["name"], second["client_id"]) == ("READ", "g", None)


def test_limits_of_connections(noted: Noted) -> None:
    config = BrokerConfig.from_properties({}, None, "test")
    quotas = ConnectionQuotas(config, noted.clock)
    quotas.on_refused = noted.notes.limit
    quotas.on_refused("PLAINTEXT", "10.1.2.3", "max.connections.per.ip")
    (row,) = rows(noted.diagnostics.refusals)
    assert (row["kind"], row["user"], row["host"], row["listener"], row["reason"]) == (
        *("limit", None, "10.1.2.3", "PLAINTEXT"),
        "max.connections.per.ip",
    )


def test_a_handshake_that_failed_is_a_login_by_tls(noted: Noted) -> None:
    noted.notes.handshake("SSL", "10.1.2.3", "the certificate is refused: certificate has expired")
    (row,) = rows(noted.diagnostics.refusals)
    assert (row["kind"], row["mechanism"], row["host"], row["listener"]) == ("login", "TLS", "10.1.2.3", "SSL")
    assert row["reason"].endswith("has expired")


def test_a_new_leader_is_noted_and_what_is_new_here_is_not(noted: Noted, data_path: Any) -> None:  # noqa: F811
    data_path.replicas.on_change = noted.notes.partition
    data_path.create("t")
    assert rows(noted.diagnostics.leaders) == []
    data_path.leadership("t", 2, (1, 2), (2,))
    (row,) = rows(noted.diagnostics.leaders)
    assert row.pop("at_ms") == noted.clock.now_ms()
    assert row == {
        "topic": "t",
        "partition": 0,
        "leader": 2,
        "leader_epoch": 2,
        "isr": [2],
        "replicas": [1, 2],
        "what": "follower",
        "reason": None,
    }
    data_path.leadership("t", 1, (1, 2), (1,))
    data_path.leadership("t", 1, (1, 2), (1, 2))
    assert [each["what"] for each in rows(noted.diagnostics.leaders)] == ["follower", "leader"]
    noted.notes.isr(data_path.partition("t"), "caught up")
    assert rows(noted.diagnostics.leaders)[-1]["what"] == "isr"


def test_segments_that_were_removed(noted: Noted) -> None:
    noted.notes.removal(TopicPartition("t", 0), [Going("retention.ms", 5, 100)])
    (row,) = rows(noted.diagnostics.segments)
    assert (row["topic"], row["partition"], row["base"], row["bytes"], row["rule"]) == ("t", 0, 5, 100, "retention.ms")


def test_stalls(noted: Noted) -> None:
    timers = SlowTimers(noted.clock)
    watchdog = Watchdog(noted.clock, timers)
    watchdog.on_stall = noted.notes.stall
    timers.late_ms = 120
    watchdog.start()
    watchdog.note("a segment was made")
    timers.late_ms = 0
    due_ms = noted.clock.now_ms() + IDLE_INTERVAL_MS
    noted.clock.advance(1_000)
    assert rows(noted.diagnostics.stalls) == [
        {"at_ms": due_ms, "ms": 120, "computing_ms": 0, "what": "a segment was made"}
    ]
