import pytest

from barnabas.migration.adoption import plan_adoption
from barnabas.migration.findings import Kind
from barnabas.migration.unreadable import unreadable
from tests.unit.migration.trees import directory, log, texts, topic, tree

GOOD = {
    **topic("t", {0: [0], 1: [0, 1]}, leader=-1, settings={"a": "1"}),
    "/brokers/topics/old": b'{"version":1,"partitions":{"0":[0]}}',
    "/config/users/a%20b": None,
    "/config/clients/c": b"",
    "/latest_producer_id_block": b'{"version":1,"broker":0,"block_start":"0","block_end":"999"}',
    "/something/of/another/version": b"\xff\x00",
}


def test_what_kafka_writes_is_understood() -> None:
    assert unreadable(tree(GOOD).nodes, "zk") == []


@pytest.mark.parametrize("data", [None, b"", b"{", b"[]", b"\xff", b'{"version":9}'])
@pytest.mark.parametrize("path", ["/cluster/id", "/brokers/topics/t", "/brokers/topics/t/partitions/0/state"])
def test_what_must_be_there(path: str, data: bytes | None) -> None:
    (finding,) = unreadable({**tree(GOOD).nodes, path: data}, "zk")
    assert (finding.kind, finding.subject) == (Kind.BLOCKED, f"zk{path}")


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("/controller_epoch", b"three"),
        ("/latest_producer_id_block", b'{"block_start":"0"}'),
        ("/brokers/topics/t", b'{"partitions":{"zero":[0]}}'),
        ("/brokers/topics/t", b'{"partitions":{"0":["a"]}}'),
        ("/brokers/topics/t", b'{"partitions":{"0":0}}'),
        ("/brokers/topics/t/partitions/0/state", b'{"leader":0,"leader_epoch":"x","controller_epoch":1,"isr":[0]}'),
        ("/config/topics/t", b"retention.ms=5"),
        ("/config/users/u", b'{"version":1}'),
        ("/config/brokers/0", b'{"config":[]}'),
    ],
)
def test_what_cannot_be_understood(path: str, data: bytes) -> None:
    (finding,) = unreadable({**tree(GOOD).nodes, path: data}, "zk")
    assert finding.subject == f"zk{path}"


def test_adopting_such_a_tree_is_refused() -> None:
    plan = plan_adoption([directory({"t-0": log("t-0")})], tree({"/brokers/topics/t": b"torn"}), "n" * 22)
    (told,) = texts(plan.findings, Kind.BLOCKED)
    assert told.startswith("zk:2181/brokers/topics/t: has invalid data")
