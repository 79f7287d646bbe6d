"""What is told of quotas."""

import json
from typing import Any

import pytest

from barnabas.broker.quotas.bucket import Windows
from barnabas.broker.quotas.explain import LARGE_REQUEST_BYTES, explain, limits_of, recorded, top
from barnabas.broker.quotas.history import History
from barnabas.broker.quotas.manager import Quotas
from barnabas.wire.quotas.entities import DEFAULT, Entity
from barnabas.wire.quotas.limits import QuotaKind

MB = 1_000_000


class Broker:
    """Quotas, and a history of a few seconds."""

    def __init__(self, producer_default: float | None = None) -> None:
        self.quotas = Quotas(Windows(11, 1_000), producer_default)
        self.history = History()
        self.now_ms = 20_000

    def limit(self, entity: Entity, value: float, kind: QuotaKind = QuotaKind.PRODUCE) -> None:
        self.quotas.set_override(entity, kind, value)

    def produce(self, user: str, client_id: str, size: int) -> int:
        """One request, and the second in which it came."""
        self.quotas.enter(user, client_id, self.now_ms).produced_bytes += size
        throttle_ms = self.quotas.record(QuotaKind.PRODUCE, user, client_id, size, self.now_ms)
        self.now_ms += 1_000
        self.history.collect(1_600_000_000_000 + self.now_ms, self.quotas.clients.values())
        return throttle_ms

    def explain(self, user: str, client_id: str, only_user: str | None = None) -> list[dict[str, Any]]:
        found = explain(self.quotas, self.history, user, client_id, self.now_ms, only_user)
        # It goes over the wire as that.
        told: list[dict[str, Any]] = json.loads(json.dumps(found))["quotas"]
        return told


def test_where_nothing_is_set() -> None:
    told = Broker().explain("alice", "app")
    assert [each["key"] for each in told] == [
        "producer_byte_rate",
        "consumer_byte_rate",
        "request_percentage",
        "controller_mutation_rate",
    ]
    for each in told:
        assert (each["limit"], each["level"], each["is_measured"]) == (None, None, False)
        assert each["why"] == "no limit is set on any of the nine levels"
        assert [level["level"] for level in each["levels"]] == list(range(1, 10))


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.mark.parametrize(
    ("entity", "level", "shared"),
    [
        (Entity("alice", "app"), 1, ("alice", "app")),
        (Entity("alice", DEFAULT), 2, ("alice", "app")),
        (Entity("alice", None), 3, ("alice", "")),
        (Entity(DEFAULT, "app"), 4, ("alice", "app")),
        (Entity(DEFAULT, DEFAULT), 5, ("alice", "app")),
        (Entity(DEFAULT, None), 6, ("alice", "")),
        (Entity(None, "app"), 7, ("", "app")),
        (Entity(None, DEFAULT), 8, ("", "app")),
    ],
)
def test_the_level_that_is_in_force(broker: Broker, entity: Entity, level: int, shared: tuple[str, str]) -> None:
    broker.limit(entity, 5 * MB)
    produce = broker.explain("alice", "app")[0]
    assert (produce["limit"], produce["level"]) == (5 * MB, level)
    assert (produce["shared_by"]["user"], produce["shared_by"]["client_id"]) == shared
    assert produce["why"].startswith(f"level {level} (")
    assert [each["level"] for each in produce["levels"] if each["limit"] is not None] == [level]


def test_what_is_set_below_is_named(broker: Broker) -> None:
    broker.limit(Entity("alice", None), 5 * MB)
    broker.limit(Entity(DEFAULT, None), 3 * MB)
    broker.limit(Entity(None, "app"), MB)
    produce = broker.explain("alice", "app")[0]
    assert produce["why"] == (
        "level 3 (user 'alice'): nothing is set above it; level 6, 7 is set too, and counts for nothing"
    )


def test_the_old_default_of_the_file() -> None:
    produce = Broker(producer_default=MB).explain("alice", "app")[0]
    assert (produce["limit"], produce["level"]) == (MB, 9)
    assert "quota.*.default" in produce["why"]


def test_what_was_measured_and_for_how_long_it_is_held(broker: Broker) -> None:
    broker.limit(Entity("alice", None), MB)
    assert broker.produce("alice", "app", 15 * MB) > 0
    produce = broker.explain("alice", "app")[0]
    assert produce["is_measured"]
    assert produce["rate"] == pytest.approx(1.5 * MB, rel=0.1)
    assert produce["measured_ms"] == 10_000
    assert produce["throttle_ms"] == 5_000
    total = 15 * MB + LARGE_REQUEST_BYTES
    assert produce["large_request_hold_ms"] == pytest.approx(total / MB * 1_000 - 10_000, abs=2)
    assert produce["exceeds"] == []


def test_a_hold_that_is_longer_than_clients_wait(broker: Broker) -> None:
    broker.limit(Entity("alice", None), 20_000)
    broker.produce("alice", "app", 100)
    exceeds = broker.explain("alice", "app")[0]["exceeds"]
    assert len(exceeds) == 1
    assert "request.timeout.ms" in exceeds[0]


def test_who_shares_it(broker: Broker) -> None:
    broker.limit(Entity("alice", None), 5 * MB)
    broker.limit(Entity("alice", "own"), 5 * MB)
    for client_id, size in (("small", 10), ("large", 1_000), ("own", 50)):
        broker.produce("alice", client_id, size)
    broker.produce("bob", "large", 70)
    produce = broker.explain("alice", "large")[0]
    assert [(each["client_id"], each["rate"]) for each in produce["sharers"]] == [("large", 100), ("small", 1)]
    assert produce["sharer_count"] == 2


def test_others_are_counted_and_not_named_to_who_may_not_know_them(broker: Broker) -> None:
    broker.limit(Entity(None, "app"), 5 * MB)
    broker.produce("alice", "app", 10)
    broker.produce("bob", "app", 10)
    produce = broker.explain("alice", "app", only_user="alice")[0]
    assert [each["user"] for each in produce["sharers"]] == ["alice"]
    assert produce["sharer_count"] == 2


def test_very_many_who_share_it_are_not_all_looked_at(broker: Broker) -> None:
    broker.limit(Entity("alice", None), 5 * MB)
    for number in range(1_500):
        broker.quotas.enter("alice", f"app-{number}", 0)
    produce = broker.explain("alice", "app-1")[0]
    assert (produce["sharer_count"], produce["is_sharer_count_complete"]) == (1_000, False)
    assert len(produce["sharers"]) == 20


def test_a_client_without_an_id_has_no_limit_of_client_ids(broker: Broker) -> None:
    broker.limit(Entity(None, DEFAULT), MB)
    produce = broker.explain("alice", "")[0]
    assert produce["limit"] is None
    assert "level 8 does not count for clients without an id" in produce["why"]


def test_top_is_by_what_is_used(broker: Broker) -> None:
    broker.limit(Entity("alice", None), MB)
    broker.produce("bob", "app", 100)
    broker.produce("alice", "app", 15 * MB)
    found: dict[str, Any] = json.loads(json.dumps(top(broker.quotas, broker.history, broker.now_ms, 10)))
    first, second = found["clients"]
    assert (first["user"], second["user"]) == ("alice", "bob")
    assert first["rates"]["producer_byte_rate"] == 1.5 * MB
    assert first["limits"] == {"producer_byte_rate": MB}
    # In ten seconds, after one of the windows.
    assert first["parts_of_limits"] == {"producer_byte_rate": pytest.approx(1.5)}
    assert first["throttle_ms"] > 0
    assert (second["limits"], second["throttle_ms"]) == ({}, 0)


def test_what_all_who_share_a_limit_use_of_it(broker: Broker) -> None:
    broker.limit(Entity("alice", None), MB)
    for client_id in ("one", "other"):
        broker.produce("alice", client_id, 5 * MB)
    found: dict[str, Any] = json.loads(json.dumps(top(broker.quotas, broker.history, broker.now_ms, 10)))
    assert [each["rates"]["producer_byte_rate"] for each in found["clients"]] == [0.5 * MB, 0.5 * MB]
    assert [each["parts_of_limits"]["producer_byte_rate"] for each in found["clients"]] == [1.0, 1.0]


def test_what_a_simulation_needs() -> None:
    broker = Broker(producer_default=3)
    broker.limit(Entity("a/b", None), MB)
    broker.limit(Entity(DEFAULT, "app"), 5, QuotaKind.REQUEST)
    broker.produce("alice", "app", 10)
    broker.produce("bob", "app", 20)
    assert limits_of(broker.quotas) == [
        {"key": "producer_byte_rate", "path": "users/a%2Fb", "limit": MB},
        {"key": "producer_byte_rate", "path": None, "limit": 3},
        {"key": "request_percentage", "path": "users/<default>/clients/app", "limit": 5},
    ]
    rings = broker.history.recorded(3)
    found: Any = recorded(Windows(11, 1_000), 11, broker.history.second, rings, "alice", None)
    assert [(each["user"], each["values"]) for each in found["rings"]] == [("alice", [0, 10, 0])]
    found = recorded(Windows(11, 1_000), 11, broker.history.second, rings, None, None)
    assert [each["user"] for each in found["rings"]] == ["alice", "bob"]
