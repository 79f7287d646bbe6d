"""What is found by a part of its name."""

from barnabas.core.types import TopicPartition
from barnabas.page.views.find import Hit, clients_of, hits_of, look_for
from tests.unit.explain.worlds import VIEWS, behind, group, log, member, partition, snapshot


def test_topics_groups_and_brokers_are_found():
    world = snapshot(
        partition(VIEWS[0]), partition(TopicPartition("billing", 0)), groups={"billing": group({VIEWS[0]: 1})}
    )
    hits = list(hits_of(world))
    assert look_for("BILL", hits) == [Hit("topic", "billing"), Hit("group", "billing")]
    assert [each.name for each in look_for("9092", hits)] == ["2 at h:9092"]
    assert look_for("", hits) == look_for("nothing", hits) == []


def test_the_nearest_come_first():
    hits = [Hit("topic", name) for name in ("my-orders", "orders-2", "Orders")]
    assert [each.name for each in look_for("orders", hits)] == ["Orders", "orders-2", "my-orders"]


def test_clients_are_members_who_was_held_or_slow_and_who_used_a_quota():
    facts = {"holds": [{"client_id": "held", "user": "alice"}], "requests": [{"client_id": "", "user": "bob"}]}
    used = [{"clients": [{"user": None, "client_id": ""}, {"user": "alice", "client_id": "reader"}]}]
    world = behind(400, log(), [member(VIEWS[0])], facts=facts)
    assert list(clients_of(world, used)) == [
        Hit("client", "held", "alice"),
        Hit("client", "reader", "alice", "billing"),
    ]
    assert next(clients_of(world, [])) == Hit("client", "reader", "", "billing")
