"""Looking at brokers: what is asked, what is bounded, and what is said where something can't be asked."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any

import pytest

from barnabas.clients.admin_replicas import Reassignment
from barnabas.clients.pool import PartitionMetadata, TopicMetadata
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.core.types import TopicPartition
from barnabas.pipeline.sources.broker import MOST_CLIENTS, MOST_LAGS, AskedBrokers, BrokerLook, CannotAskError
from barnabas.pipeline.sources.broker_metrics import Client, partition_faults

URL = "http://h:9644/metrics"


class ScriptedBrokers(AskedBrokers):
    """Brokers that answer what they are told to."""

    def __init__(self) -> None:
        self.pages = {URL: "barnabas_loop_stalls_total 1\n"}
        self.in_use: list[dict[str, Any]] | None = [{"clients": []}]
        self.groups: dict[str, dict[TopicPartition, int]] = {}
        self.group_count = 0
        self.is_away = self.has_no_coordinator = False
        self.asked: list[Client] = []
        self.throttle_ms = 7

    def page(self, url: str) -> str:
        if url not in self.pages:
            raise CannotAskError("refused")
        return self.pages[url]

    def quotas_in_use(self) -> list[dict[str, Any]] | None:
        return self.in_use

    def explained(self, clients: Sequence[Client]) -> list[dict[str, Any]]:
        self.asked = [*clients]
        level = {"level": 1, "path": "/config/users/ann"}
        limit = {"key": "producer_byte_rate", "limit": 10.0, "unit": "bytes/s", "level": 1, "levels": [level]}
        state = {"rate": 20.0, "throttle_ms": self.throttle_ms, "sharers": [], "sharer_count": 1}
        return [{"broker_id": 0, "user": user, "client_id": each, "quotas": [limit | state]} for user, each in clients]

    def topics(self) -> Mapping[str, TopicMetadata]:
        if self.is_away:
            raise CannotAskError("no broker")
        parts = {n: PartitionMetadata(n, leader, [0], [0], ErrorCode.NONE) for n, leader in enumerate((0, -1))}
        return {"t": TopicMetadata("t", ErrorCode.NONE, False, parts)}

    def committed(self, most: int) -> tuple[dict[str, dict[TopicPartition, int]], int]:
        if self.has_no_coordinator:
            raise CannotAskError("timed out")
        return self.groups, self.group_count

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        assert all(each.partition == 0 for each in partitions), "one that nobody leads"
        return dict.fromkeys(partitions, 100)


def use(client_ids: Iterable[str], part: float = 1.0) -> list[dict[str, Any]]:
    parts = {"producer_byte_rate": part}
    state = {"user": "ann", "rates": {}, "throttle_ms": 0, "held_count": 0, "parts_of_limits": parts}
    return [{"clients": [{"client_id": each, **state} for each in client_ids]}]


def told(look: BrokerLook) -> dict[str, float]:
    return {what: float(str(fields["value"])) for _, what, fields in look()}


def test_all_that_can_be_asked_is_told() -> None:
    brokers, warnings = ScriptedBrokers(), list[str]()
    brokers.groups = {"g": {TopicPartition("t", 0): 40, TopicPartition("t", 1): 1}}
    brokers.group_count = 3
    brokers.in_use = use(["a"])
    look = BrokerLook(brokers, [URL], warnings.append)
    assert told(look) == {
        "cluster:offline_partitions": 1,
        "cluster:under_replicated_partitions": 0,
        "cluster:lag:g:t": 60,
        "cluster:lags_left_out": 0,
        "cluster:groups_left_out": 2,
        "0:throttle_ms:ann:a": 7,
        "cluster:clients_left_out": 0,
    }
    brokers.pages[URL] = "barnabas_loop_stalls_total 4\n"
    assert told(look)["h%3A9644:loop_stalls"] == 3
    assert warnings == []


def test_a_tick_has_so_many_series_at_the_most() -> None:
    brokers = ScriptedBrokers()
    brokers.groups = {f"g{number}": {TopicPartition("t", 0): number} for number in range(MOST_LAGS + 5)}
    brokers.in_use = use(f"c{number}" for number in range(MOST_CLIENTS + 3))
    found = told(BrokerLook(brokers, [], print))
    assert sum(":lag:" in what for what in found) == MOST_LAGS
    assert sum(":throttle_ms:" in what for what in found) == MOST_CLIENTS
    assert (found["cluster:lags_left_out"], found["cluster:clients_left_out"]) == (5, 3)
    # The largest are told.
    assert found["cluster:lag:g0:t"] == 100


def test_client_that_is_held_is_asked_about_until_it_is_not() -> None:
    brokers = ScriptedBrokers()
    brokers.in_use = use(["a"])
    look = BrokerLook(brokers, [], print)
    look()
    brokers.in_use = use([])
    assert told(look)["0:throttle_ms:ann:a"] == 7
    brokers.throttle_ms = 0
    assert "0:throttle_ms:ann:a" not in told(look)
    look()
    assert brokers.asked == []


def test_what_cannot_be_asked_is_said_once_and_all_else_goes_on() -> None:
    brokers, warnings = ScriptedBrokers(), list[str]()
    other = "http://i:9644/metrics"
    look = BrokerLook(brokers, [other, URL], warnings.append)
    brokers.is_away = True
    brokers.pages[URL] = "<html>"
    for _ in range(3):
        assert told(look) == {"cluster:clients_left_out": 0}
    assert [each.partition(": ")[0] for each in warnings] == [
        f"no metrics of {other}",
        f"no metrics of {URL}",
        "no metrics of partitions",
    ]
    brokers.is_away = False
    brokers.pages = {URL: "", other: ""}
    look()
    assert warnings[3:] == [
        f"metrics of {other} are available again",
        f"metrics of {URL} are available again",
        "metrics of partitions are available again",
    ]


def test_faults_of_partitions_are_told_while_a_group_has_no_coordinator() -> None:
    brokers, warnings = ScriptedBrokers(), list[str]()
    look = BrokerLook(brokers, [], warnings.append)
    brokers.has_no_coordinator = True
    assert told(look)["cluster:offline_partitions"] == 1
    assert told(look)["cluster:under_replicated_partitions"] == 0
    brokers.has_no_coordinator = False
    assert "cluster:groups_left_out" in told(look)
    assert warnings == ["no metrics of lag: timed out", "metrics of lag are available again"]


def test_brokers_that_do_not_explain_quotas_are_left_alone_and_pages_tell_who_is_held() -> None:
    brokers, warnings = ScriptedBrokers(), list[str]()
    brokers.in_use = None
    brokers.pages[URL] = 'kafka_server_quota_throttle_time{resource="Fetch",user="ann",clientId="a"} 30\n'
    look = BrokerLook(brokers, [URL], warnings.append)
    for _ in range(4):
        assert told(look)["h%3A9644:throttle_ms:ann:a"] == 30
    assert len(warnings) == 1
    assert warnings[0].startswith("the brokers do not explain quotas")
    # A broker that died while it was asked looks the same, once.
    brokers = ScriptedBrokers()
    look = BrokerLook(brokers, [], warnings.append)
    for answer in (None, None, use(["a"]), None, None, use(["a"])):
        brokers.in_use = answer
        assert ("0:throttle_ms:ann:a" in told(look)) == (answer is not None)
    assert len(warnings) == 1


@pytest.mark.parametrize(
    ("failure", "count"),
    [
        (None, 1),
        (KafkaError(ErrorCode.UNSUPPORTED_VERSION), 2),
        (KafkaError(ErrorCode.NOT_CONTROLLER), 2),
        (TimeoutError(), 2),
    ],
)
def test_replicas_that_a_reassignment_adds_are_not_missing(failure: Exception | None, count: int) -> None:
    class Answers:
        async def topics(self) -> dict[str, TopicMetadata]:
            parts = {n: PartitionMetadata(n, 1, [3, 1, 2], [1, 2], ErrorCode.NONE) for n in (0, 1)}
            return {"t": TopicMetadata("t", ErrorCode.NONE, False, parts)}

        async def reassignments(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Reassignment]:
            if failure is not None:
                raise failure
            assert [*partitions] == [TopicPartition("t", 0), TopicPartition("t", 1)]
            return {TopicPartition("t", 0): Reassignment([3, 1, 2], [3], [2])}

    class Moving(AskedBrokers):
        def _admin(self, kind: object, timeout_ms: int = 0) -> Any:
            return Answers()

    with closing(Moving("127.0.0.1:1")) as brokers:
        _, lacking = partition_faults(brokers.topics())
    assert (lacking.value, lacking.examples) == (count, "t-0, t-1" if count == 2 else "t-1")
