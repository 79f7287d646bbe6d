from barnabas.migration.read_back import Leader, find_missing, summarize
from barnabas.migration.release import ReleasePlan
from barnabas.migration.tree_copy import TreeCopy
from barnabas.wire.registry import paths
from barnabas.wire.registry.znodes.configs import encode_config
from tests.unit.migration.trees import CLUSTER, topic, tree


def test_what_a_tree_holds() -> None:
    nodes = {
        **topic("t", {0: [0], 1: [1]}, leader=0, epoch=7, settings={"a": "1"}),
        **topic("led-by-nobody", {0: [1]}, leader=-1, epoch=3),
        "/config/users/a%20b": encode_config({"producer_byte_rate": "1", "SCRAM-SHA-256": "salt=x"}),
        "/config/users/parent": None,
        "/config/users/parent/clients/c": encode_config({"consumer_byte_rate": "1"}),
        "/config/users/without": encode_config({}),
        "/config/clients/c": encode_config({"request_percentage": "50"}),
        "/config/brokers/0": encode_config({"log.cleaner.threads": "2"}),
        "/kafka-acl/Topic/t": b'{"version":1,"acls":[]}',
        "/kafka-acl/Group": None,
    }
    del nodes[paths.partition_state("t", 1)]
    held = summarize(tree(nodes))
    assert held.cluster_id == CLUSTER
    assert [(each.name, each.partitions, each.settings) for each in held.topics] == [
        ("led-by-nobody", {0: Leader(-1, 3)}, {}),
        ("t", {0: Leader(0, 7), 1: None}, {"a": "1"}),
    ]
    assert (held.user_count, held.client_count, held.broker_count) == (1, 2, 1)
    assert (held.quota_count, held.access_rule_count) == (3, 1)


def test_what_a_plan_forgot_is_found_all_the_same() -> None:
    registry = tree(topic("t", {0: [0], 1: [0]}, epoch=5))
    # A plan that writes nothing, to a tree that is as it says.
    plan = ReleasePlan("zk:2181/fresh", broker_id=0)
    empty = TreeCopy("zk:2181/fresh", {"/": None}, {"/": 0})
    missing = find_missing(plan, registry, empty, empty)
    assert f"{paths.topic('t')} is missing" in missing
    assert "/cluster/id is missing" in missing
    older = tree(topic("t", {0: [0]}, epoch=4))
    assert find_missing(plan, registry, older, older) == [
        f"{paths.partition('t', 1)} is missing",
        f"{paths.partition_state('t', 1)} is missing",
        f"{paths.partition_state('t', 0)} does not name broker 0 as leader",
        "partition t-1 is missing",
    ]


def test_what_somebody_else_deleted_is_not_missed() -> None:
    registry = tree(topic("t", {0: [0]}))
    there = tree({})
    plan = ReleasePlan("zk:2181", broker_id=0, not_written={paths.topic("t"), paths.topic_config("t")})
    assert find_missing(plan, registry, there, there) == []
