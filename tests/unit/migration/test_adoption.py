import tracemalloc
from pathlib import Path

import pytest

from barnabas.broker.log.producers.open_transactions import OpenTransaction
from barnabas.core.types import TopicPartition
from barnabas.migration.adoption import plan_adoption
from barnabas.migration.findings import Kind
from barnabas.migration.tree_copy import is_carried
from barnabas.wire.registry import paths
from barnabas.wire.registry.znodes.cluster import decode_cluster_id, decode_producer_id_block
from barnabas.wire.registry.znodes.configs import decode_config, encode_config
from barnabas.wire.registry.znodes.topics import decode_assignment, decode_partition_state
from tests.unit.migration.trees import CLUSTER, directory, log, texts, topic, tree

NEW_ID = "n" * 22


def test_with_a_tree_the_registry_is_its_copy() -> None:
    nodes = {
        **topic("views", {0: [0], 1: [0]}, settings={"retention.ms": "5"}),
        "/config/users/a%20b": encode_config({"producer_byte_rate": "1"}),
        "/brokers/ids/7": b"gone with its session",
        "/config/changes/config_change_0000000001": b"seen by everybody",
        "/consumers/g/offsets/views/0": b"17",
        "/zookeeper/quota": b"ZooKeeper's own",
        "/something/of/another/version": b"kept",
    }
    there = tree(nodes)
    plan = plan_adoption([directory({"views-0": log("views-0"), "views-1": log("views-1")})], there, NEW_ID)
    assert not plan.is_blocked
    assert plan.nodes == {path: data for path, data in there.nodes.items() if is_carried(path)}
    assert "/consumers/g/offsets/views/0" in plan.nodes
    assert "/something/of/another/version" in plan.nodes
    assert not {"/brokers/ids/7", "/zookeeper/quota", "/config/changes/config_change_0000000001"} & plan.nodes.keys()
    (views,) = plan.topics
    assert (views.partition_count, views.here, views.served, views.size_bytes) == (2, [0, 1], [0, 1], 2000)
    assert views.settings == {"retention.ms": "5"}
    assert (plan.broker_id, plan.cluster_id) == (0, CLUSTER)
    # Users, quotas and access rules apply as in Kafka.
    assert texts(plan.findings, Kind.LIMITED) == []


def test_parents_come_before_their_children() -> None:
    plan = plan_adoption([directory({"a-0": log("a-0")})], None, NEW_ID)
    seen = {"/"}
    for path in plan.nodes:
        assert paths.parent(path) in seen
        seen.add(path)


def test_replicas_elsewhere_are_told_and_not_served() -> None:
    nodes = {
        **topic("here", {0: [0, 1]}, leader=1, isr=(1, 0)),
        **topic("elsewhere", {0: [1], 1: [0], 2: [1], 3: [1]}, leader=1),
        **topic("behind", {0: [0, 1]}, leader=1, isr=(1,)),
    }
    logs = {name: log(name) for name in ("here-0", "elsewhere-1", "behind-0")}
    plan = plan_adoption([directory(logs)], tree(nodes), NEW_ID)
    served = {each.name: each.served for each in plan.topics}
    # elsewhere-1 has replica 0 but was led by 1, who alone is not in its list: the state says isr=(0,).
    assert served == {"here": [0], "elsewhere": [1], "behind": []}
    assert texts(plan.findings, Kind.NOT_SERVED) == [
        "behind: partitions 0: this broker's replica was not in sync; only other brokers have all records",
        "elsewhere: partitions 0, 2-3 have no replica on this broker",
    ]
    assert not plan.is_blocked


def test_a_partition_without_its_log_means_that_a_directory_is_missing() -> None:
    nodes = topic("views", {0: [0], 1: [0]})
    logs = {"views-0": log("views-0")}
    plan = plan_adoption([directory(logs)], tree(nodes), NEW_ID)
    assert plan.is_blocked
    assert "views: partitions 1 have no log in these directories" in texts(plan.findings, Kind.BLOCKED)[0]
    plan = plan_adoption([directory(logs)], tree(nodes), NEW_ID, allows_missing=True)
    assert not plan.is_blocked
    assert plan.topics[0].served == [0, 1]
    assert texts(plan.findings, Kind.NOTE) == ["views: partitions 1 have no log here and will start empty"]


def test_a_partition_that_was_never_led_needs_no_log() -> None:
    nodes = topic("new", {0: [0]})
    for path in (paths.partition_state("new", 0), paths.partition("new", 0), paths.partitions("new")):
        del nodes[path]
    plan = plan_adoption([directory()], tree(nodes), NEW_ID)
    assert not plan.is_blocked
    assert plan.topics[0].served == [0]


def test_several_directories_are_one_broker() -> None:
    nodes = topic("views", {0: [0], 1: [0]})
    one = directory({"views-0": log("views-0")}, path="/a")
    other = directory({"views-1": log("views-1")}, path="/b")
    assert not plan_adoption([one, other], tree(nodes), NEW_ID).is_blocked
    stranger = directory({"views-1": log("views-1")}, path="/b", broker_id=1)
    plan = plan_adoption([one, stranger], tree(nodes), NEW_ID)
    assert texts(plan.findings, Kind.BLOCKED) == [
        "/a, /b: belong to different brokers or clusters: adopt the directories of one broker together"
    ]
    twice = directory({"views-0": log("views-0")}, path="/b")
    plan = plan_adoption([one, twice], tree(nodes), NEW_ID)
    assert "views-0: has two logs" in texts(plan.findings, Kind.BLOCKED)[0]


def test_what_blocks() -> None:
    in_use, adopted, no_meta = directory(path="/use"), directory(path="/adopted"), directory(path="/other")
    in_use.is_in_use, adopted.has_registry, no_meta.identity = True, True, None
    plan = plan_adoption([in_use, adopted, no_meta], None, NEW_ID)
    blocked = texts(plan.findings, Kind.BLOCKED)
    assert [text.split(":")[0] for text in blocked] == ["/use", "/adopted", "/other"]
    assert plan.nodes == {}


def test_the_tree_must_be_that_of_the_directory_and_nobody_alive_in_it() -> None:
    plan = plan_adoption([directory()], tree({}, cluster="x" * 22), NEW_ID)
    assert "belongs to cluster" in texts(plan.findings, Kind.BLOCKED)[0]
    plan = plan_adoption([directory()], tree({}, live=[0, 4]), NEW_ID)
    blocked = texts(plan.findings, Kind.BLOCKED)
    assert "broker 0 is registered" in blocked[0]
    assert "broker 4 of the cluster is alive" in blocked[1]
    empty = tree({})
    empty.nodes = {"/": None}
    plan = plan_adoption([directory()], empty, NEW_ID)
    assert "check the chroot" in texts(plan.findings, Kind.BLOCKED)[0]


def test_a_tree_older_than_the_logs_does_not_bring_an_old_epoch_back() -> None:
    plan = plan_adoption([directory({"t-0": log("t-0", epoch=9)})], tree(topic("t", {0: [0]}, epoch=5)), NEW_ID)
    state = decode_partition_state(plan.nodes[paths.partition_state("t", 0)])
    assert (state.leader_epoch, state.leader, state.isr) == (10, 0, (0,))


def test_logs_of_no_topic_are_left_alone() -> None:
    plan = plan_adoption([directory({"gone-0": log("gone-0"), "gone-1": log("gone-1")})], tree({}), NEW_ID)
    assert texts(plan.findings, Kind.NOTE) == [
        "gone: the logs of partitions 0-1 belong to no topic of the tree and are ignored"
    ]
    assert plan.topics == []


def test_links_are_named_and_files_that_are_links_block() -> None:
    elsewhere, strange = log("t-0"), log("t-1")
    elsewhere.leads_to = Path("/disk/t-0")
    strange.irregular = ["00000000000000000000.log"]
    plan = plan_adoption([directory({"t-0": elsewhere, "t-1": strange})], None, NEW_ID)
    assert texts(plan.findings, Kind.BLOCKED) == [
        "/data/t-1: 00000000000000000000.log must be a regular file: replace it with the file itself"
    ]
    assert "/data/t-0: is a link: its records are in /disk/t-0, and stay there when the link is deleted" in texts(
        plan.findings, Kind.NOTE
    )


def test_without_a_tree_names_and_logs_say_what_there_is() -> None:
    logs = {
        "views-0": log("views-0", epoch=7, producer_id=4017),
        "views-1": log("views-1", epoch=-1),
        "names-0": log("names-0"),
        "__consumer_offsets-0": log("__consumer_offsets-0"),
    }
    plan = plan_adoption([directory(logs, broker_id=3, compacted=["names-0"])], None, NEW_ID)
    assert not plan.is_blocked
    assert decode_assignment(plan.nodes[paths.topic("views")]).replicas == {0: [3], 1: [3]}
    states = [decode_partition_state(plan.nodes[paths.partition_state("views", index)]) for index in (0, 1)]
    assert [(it.leader, it.leader_epoch, it.isr) for it in states] == [(3, 8, (3,)), (3, 0, (3,))]
    assert decode_config(plan.nodes[paths.topic_config("views")]) == {"retention.ms": "-1", "retention.bytes": "-1"}
    assert decode_config(plan.nodes[paths.topic_config("names")]) == {"cleanup.policy": "compact"}
    offsets = decode_config(plan.nodes[paths.topic_config("__consumer_offsets")])
    assert offsets["cleanup.policy"] == "compact"
    block = decode_producer_id_block(plan.nodes[paths.PRODUCER_ID_BLOCK])
    assert block is not None
    assert block.last > 1_000_000
    assert block.first % 1000 == 0
    assert block.last == block.first + 999
    assert set(paths.PERSISTENT) <= plan.nodes.keys()
    assert decode_cluster_id(plan.nodes[paths.CLUSTER_ID]) == CLUSTER


def test_without_a_tree_a_gap_in_the_partitions_is_a_missing_directory() -> None:
    logs = {"t-0": log("t-0"), "t-2": log("t-2")}
    plan = plan_adoption([directory(logs)], None, NEW_ID)
    assert "t: partitions 1 have no log" in texts(plan.findings, Kind.BLOCKED)[0]
    plan = plan_adoption([directory(logs)], None, NEW_ID, allows_missing=True)
    assert not plan.is_blocked
    assert plan.topics[0].served == [0, 1, 2]


def test_a_directory_from_before_cluster_ids_gets_one() -> None:
    plan = plan_adoption([directory(cluster_id=None)], None, NEW_ID)
    assert plan.cluster_id == decode_cluster_id(plan.nodes[paths.CLUSTER_ID]) == NEW_ID
    assert plan.has_made_up_id
    assert (
        f"/data: has no cluster id (Kafka before 2.4 stores it only in ZooKeeper): its new cluster id is {NEW_ID}"
    ) in texts(plan.findings, Kind.NOTE)
    plan = plan_adoption([directory(cluster_id=None)], tree({}), NEW_ID)
    assert (plan.cluster_id, plan.has_made_up_id) == (CLUSTER, False)
    plan = plan_adoption([directory()], None, NEW_ID)
    assert (plan.cluster_id, plan.has_made_up_id) == (CLUSTER, False)


def test_limits_are_told_topic_by_topic() -> None:
    nodes = {
        **topic("safe", {0: [0, 1]}, isr=(0, 1), settings={"min.insync.replicas": "2"}),
        "/kafka-acl/Topic/safe": b'{"version":1,"acls":[]}',
        "/kafka-acl/Group": None,
    }
    plan = plan_adoption([directory({"safe-0": log("safe-0")})], tree(nodes), NEW_ID)
    (limited,) = texts(plan.findings, Kind.LIMITED)
    assert "acks=all are refused" in limited


def test_open_transactions_are_told_partition_by_partition() -> None:
    nodes = {**topic("views", {0: [0], 1: [0]}), **topic("__consumer_offsets", {0: [0]})}
    logs = {name: log(name) for name in ("views-0", "views-1", "__consumer_offsets-0", "stray-0")}
    open_in_views = [OpenTransaction(40, 3, 17, 1_700_000_000_000), OpenTransaction(41, 0, 20)]
    logs["views-1"].open_transactions = open_in_views
    logs["__consumer_offsets-0"].open_transactions = [OpenTransaction(40, 3, 5)]
    logs["stray-0"].open_transactions = [OpenTransaction(40, 3, 5)]
    plan = plan_adoption([directory(logs)], tree(nodes), NEW_ID)
    assert not plan.is_blocked
    assert plan.open_transactions == [
        (TopicPartition("__consumer_offsets", 0), OpenTransaction(40, 3, 5)),
        *((TopicPartition("views", 1), each) for each in open_in_views),
    ]
    assert texts(plan.findings, Kind.LIMITED) == [
        "__consumer_offsets-0: has an open transaction of producer 40 from offset 5 on: "
        "the offsets that were committed in it do not count",
        "views-1: has an open transaction of producer 40 from offset 17 on: "
        "readers with isolation.level=read_committed get nothing from offset 17 on",
        "open transactions: no coordinator knows them, because __transaction_state is missing: read_committed "
        "consumers get no later records until `barnabas transactions abort` aborts them",
    ]
    nodes |= topic("__transaction_state", {0: [0]})
    logs["__transaction_state-0"] = log("__transaction_state-0")
    plan = plan_adoption([directory(logs)], tree(nodes), NEW_ID)
    assert texts(plan.findings, Kind.LIMITED) == []
    (note,) = [text for text in texts(plan.findings, Kind.NOTE) if text.startswith("open transactions: ")]
    assert "their coordinator completes them soon after the start" in note
    plan = plan_adoption([directory({name: log(name) for name in logs})], tree(nodes), NEW_ID)
    assert not [text for text in texts(plan.findings, Kind.NOTE) if text.startswith("open transactions: ")]


@pytest.mark.parametrize("allows_missing", [False, True])
def test_a_gap_wider_than_any_topic_is_named_and_not_filled(allows_missing: bool) -> None:
    logs = {name: log(name) for name in ("t-0", "t-7", "t-2147483647", "u-0")}
    tracemalloc.start()
    plan = plan_adoption([directory(logs)], None, NEW_ID, allows_missing=allows_missing)
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert texts(plan.findings, Kind.BLOCKED) == [
        "t: partitions 1-6, 8-2147483646 have no log in these directories, more than --allow-missing accepts (10000 in "
        "total): move away directories that are not partitions of the topic, or give the tree with --zookeeper"
    ]
    assert [topic.name for topic in plan.topics] == ["u"]
    assert most_bytes < 10_000_000


def test_many_gaps_are_bounded_together() -> None:
    logs = {f"t{index}-6000": log(f"t{index}-6000") for index in range(3)}
    plan = plan_adoption([directory(logs)], None, NEW_ID, allows_missing=True)
    assert [text.partition(":")[0] for text in texts(plan.findings, Kind.BLOCKED)] == ["t1", "t2"]
    assert plan.topics[0].partition_count == 6001
