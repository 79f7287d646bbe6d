import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.migration.directories import DirectoryFacts
from barnabas.migration.findings import Kind
from barnabas.migration.read_back import find_missing
from barnabas.migration.release import Action, Change, ReleasePlan, plan_release
from barnabas.migration.tree_copy import ADOPTED, Adopted, Nodes, TreeCopy, encode_adopted
from barnabas.wire.registry import paths
from barnabas.wire.registry.znodes.cluster import ProducerIdBlock, encode_producer_id_block
from barnabas.wire.registry.znodes.configs import decode_config, encode_config
from barnabas.wire.registry.znodes.topics import PartitionStateNode, decode_partition_state, encode_partition_state
from tests.unit.migration.trees import CLUSTER, TREE_ID, after, directory, texts, topic, tree

HERE: list[DirectoryFacts] = [directory()]


def registry(
    now: Nodes, adopted: Nodes | None, *, source: str | None = "zk:2181", has_made_up_id: bool = False
) -> TreeCopy:
    """An embedded registry that holds `now`.

    Args:
        adopted: What it held in the beginning.
        source: Where it came from; None: from the directories alone.
        has_made_up_id: Nobody knew the cluster's id.
    """
    copy = tree(now)
    if adopted is not None:
        began = tree(adopted).nodes
        added = frozenset(began) if source is None else frozenset()
        copy.nodes[ADOPTED] = encode_adopted(Adopted(source, source and TREE_ID, began, added, has_made_up_id), 0)
    return copy


def released(
    now: Nodes, adopted: Nodes | None, target: TreeCopy, *, source: str | None = "zk:2181"
) -> tuple[ReleasePlan, TreeCopy]:
    """Plan, do it, and see that all is there and nothing left to do."""
    ours = registry(now, adopted, source=source)
    plan = plan_release(HERE, ours, target)
    assert not plan.is_blocked, plan.findings
    then = after(target, plan.ops)
    assert find_missing(plan, ours, target, then) == []
    again = plan_release(HERE, ours, then)
    assert (again.ops, again.changes, again.findings) == ([], [], plan.findings)
    return plan, then


def state(copy: TreeCopy, name: str, partition: int = 0) -> PartitionStateNode:
    return decode_partition_state(copy.nodes[paths.partition_state(name, partition)])


def test_what_did_not_change_is_not_written() -> None:
    nodes = topic("t", {0: [0]})
    plan, then = released(nodes, nodes, tree(nodes))
    assert plan.ops == []
    assert then.nodes == tree(nodes).nodes


def test_a_tree_that_is_none_yet_gets_everything() -> None:
    nodes = {**topic("t", {0: [0], 1: [0]}, settings={"retention.ms": "5"}), **topic("plain", {0: [0]})}
    empty = TreeCopy("zk:2181/new", {"/": None}, {"/": 0})
    plan, then = released(nodes, None, empty)
    assert {path: data for path, data in then.nodes.items() if path != "/"} == tree(nodes).nodes
    assert Change(Action.CREATE, "topic t", "2 partitions") in plan.changes
    assert Change(Action.CREATE, "settings of topic t", "retention.ms=5") in plan.changes
    assert "settings of topic plain" not in {change.subject for change in plan.changes}


def test_a_chroot_that_is_not_there_counts_as_empty() -> None:
    plan = plan_release(HERE, registry(topic("t", {0: [0]}), None), TreeCopy("zk:2181/new"))
    assert not plan.is_blocked
    assert plan.ops


def test_the_work_for_a_topic_does_not_grow_with_their_number() -> None:
    kept = {path: data for number in range(1_000) for path, data in topic(f"t{number}", {0: [0]}).items()}
    gone = {path: data for number in range(1_000) for path, data in topic(f"gone{number}", {0: [0]}).items()}
    users: Nodes = {f"{paths.CONFIG_USERS}/u{number}": encode_config({"a": "1"}) for number in range(1_000)}
    ours, target = registry(kept, {**kept, **gone, **users}), tree({**kept, **gone, **users})
    began_s = time.process_time()
    plan = plan_release(HERE, ours, target)
    assert time.process_time() - began_s < 2
    assert after(target, plan.ops).nodes == tree(kept).nodes


def test_new_and_deleted_topics_and_changed_settings_go_back() -> None:
    before = {**topic("kept", {0: [0]}, settings={"a": "1", "b": "2"}), **topic("deleted", {0: [0], 1: [0]})}
    now = {**topic("kept", {0: [0]}, settings={"a": "9"}), **topic("new", {0: [0]})}
    plan, then = released(now, before, tree(before))
    assert then.nodes == tree(now).nodes
    assert plan.changes == [
        Change(Action.DELETE, "topic deleted"),
        Change(Action.CREATE, "topic new", "1 partition"),
        Change(Action.DELETE, "settings of topic deleted"),
        Change(Action.CHANGE, "settings of topic kept", "a=9, b removed"),
    ]


def test_new_partitions_go_back() -> None:
    before, now = topic("t", {0: [0]}), topic("t", {0: [0], 1: [0]})
    plan, then = released(now, before, tree(before))
    assert then.nodes == tree(now).nodes
    assert Change(Action.CHANGE, "topic t", "1 to 2 partitions") in plan.changes


def test_what_somebody_else_changed_meanwhile_stays() -> None:
    before = {**topic("t", {0: [0]}), "/config/users/u": encode_config({"a": "1"})}
    theirs = {**topic("t", {0: [0]}, settings={"x": "1"}), **topic("theirs", {0: [0]})}
    plan, then = released(before, before, tree(theirs))
    assert then.nodes == tree(theirs).nodes
    assert plan.ops == []


def test_both_changed_to_different_things() -> None:
    before = topic("t", {0: [0]}, settings={"a": "1"})
    now = topic("t", {0: [0]}, settings={"a": "2"})
    theirs = topic("t", {0: [0]}, settings={"a": "3"})
    plan = plan_release(HERE, registry(now, before), tree(theirs))
    assert plan.ops == []
    assert texts(plan.findings, Kind.BLOCKED) == [
        "settings of topic t: was changed here and in ZooKeeper, to different data: change one of the two so that they "
        "agree"
    ]
    plan, _ = released(now, before, tree(now))
    assert plan.ops == []


def test_topics_that_both_touched() -> None:
    before, bigger, biggest = (topic("t", {p: [0] for p in range(count)}) for count in (1, 2, 3))
    for now, adopted, theirs in (
        (biggest, before, bigger),
        ({}, before, bigger),
        (bigger, before, {}),
        (bigger, {}, before),
    ):
        plan = plan_release(HERE, registry(now, adopted), tree(theirs))
        assert plan.ops == []
        assert len([text for text in texts(plan.findings, Kind.BLOCKED) if text.startswith("topic t: ")]) == 1


def test_a_topic_that_was_deleted_in_zookeeper_stays_deleted() -> None:
    nodes = topic("t", {0: [0]})
    config = {paths.topic_config("t"): nodes[paths.topic_config("t")]}
    plan = plan_release(HERE, registry(nodes, nodes), tree(config))
    assert plan.ops == []
    assert texts(plan.findings, Kind.NOTE) == [
        "topic t: was deleted in ZooKeeper meanwhile and stays deleted; its logs are kept"
    ]


def test_a_broker_that_led_alone_is_the_only_one_in_sync() -> None:
    before = topic("t", {0: [1, 0]}, leader=1, epoch=5, isr=(1, 0))
    now = topic("t", {0: [1, 0]}, leader=0, epoch=6, isr=(0,))
    plan, then = released(now, before, tree(before))
    assert (state(then, "t").leader, state(then, "t").leader_epoch, state(then, "t").isr) == (0, 6, (0,))
    assert plan.changes == [Change(Action.CHANGE, "leaders of topic t", "led by broker 0 alone, in 1 partitions")]


def test_an_epoch_is_never_used_twice() -> None:
    before = topic("t", {0: [0, 1]}, epoch=1, isr=(0, 1))
    now = topic("t", {0: [0, 1]}, epoch=6, isr=(0,))
    _, then = released(now, before, tree(topic("t", {0: [0, 1]}, leader=1, epoch=40, isr=(1,))))
    assert (state(then, "t").leader, state(then, "t").leader_epoch, state(then, "t").isr) == (0, 41, (0,))
    # Adopted without its tree, whose epoch is higher than any log has seen.
    guessed = topic("t", {0: [0]}, epoch=6)
    plan, then = released(guessed, guessed, tree(topic("t", {0: [0]}, epoch=9)), source=None)
    assert plan.ops == []
    assert state(then, "t").leader_epoch == 9


def test_partitions_that_were_not_served_are_left_as_they_were() -> None:
    before = topic("t", {0: [1]}, leader=1, epoch=5)
    now = topic("t", {0: [1]}, leader=-1, epoch=6)
    plan, _ = released(now, before, tree(before))
    assert plan.ops == []


def test_counters_only_go_up() -> None:
    def block(last: int) -> bytes:
        return encode_producer_id_block(ProducerIdBlock(0, last - 999, last))

    low = {paths.CONTROLLER_EPOCH: b"3", paths.PRODUCER_ID_BLOCK: block(999)}
    high = {paths.CONTROLLER_EPOCH: b"8", paths.PRODUCER_ID_BLOCK: block(4999)}
    plan, then = released(high, low, tree(low))
    assert then.nodes == tree(high).nodes
    assert [change.subject for change in plan.changes] == ["controller epoch", "producer ids"]
    plan, then = released(low, {}, tree(high))
    assert plan.ops == []


def test_a_payload_written_in_another_version_says_the_same() -> None:
    before = topic("t", {0: [0]})
    theirs = {**before, paths.topic("t"): b'{"version":1,"partitions":{"0":[0]}}'}
    theirs[paths.topic_config("t")] = b'{"config": {}, "version": 1}'
    plan, _ = released(before, before, tree(theirs))
    assert plan.ops == []
    bigger = topic("t", {0: [0], 1: [0]})
    _, then = released(bigger, before, tree(theirs))
    assert then.nodes[paths.topic("t")] == bigger[paths.topic("t")]


def test_secrets_are_not_printed() -> None:
    path = "/config/users/u"
    plan, _ = released({path: encode_config({"SCRAM-SHA-256": "salt=x"})}, {}, tree({}))
    assert plan.changes == [Change(Action.CREATE, "settings of user u", "SCRAM-SHA-256")]


def test_something_new_below_what_was_deleted_here() -> None:
    before = {"/config/users/u": None, "/config/users/u/clients": None, "/config/users/u/clients/c": encode_config({})}
    theirs = {**before, "/config/users/u/clients/d": encode_config({"a": "1"})}
    plan = plan_release(HERE, registry({}, before), tree(theirs))
    assert plan.is_blocked
    _, then = released({}, before, tree(before))
    assert then.nodes == tree({}).nodes


EMPTY = TreeCopy("zk:2181/fresh", {"/": None}, {"/": 0})
EVERYTHING = {
    **topic("t", {0: [0], 1: [0]}, settings={"retention.ms": "-1"}),
    "/config/users/u": encode_config({"producer_byte_rate": "1"}),
    "/consumers/g/offsets/t/0": b"17",
}


@pytest.mark.parametrize("source", ["zk:2181", None])
def test_what_a_tree_never_had_is_new_to_it(source: str | None) -> None:
    now = {**EVERYTHING, **topic("new", {0: [0]})}
    plan, then = released(now, EVERYTHING, EMPTY, source=source)
    assert {path: data for path, data in then.nodes.items() if path != "/"} == tree(now).nodes
    assert {change.subject for change in plan.changes} >= {"topic t", "topic new", "settings of user u"}
    told = "zk:2181/fresh: is not the tree that was adopted from zk:2181: all missing nodes are written"
    assert texts(plan.findings, Kind.NOTE) == ([told] if source else [])


def test_another_tree_at_the_address_of_the_adopted_one_is_another_tree() -> None:
    _, then = released(EVERYTHING, EVERYTHING, tree({}, tree_id="2b-1800000000000"))
    assert then.nodes == tree(EVERYTHING).nodes
    plan, then = released(EVERYTHING, EVERYTHING, tree({}))
    assert then.nodes == tree({}).nodes
    assert "topic t: was deleted in ZooKeeper meanwhile" in texts(plan.findings, Kind.NOTE)[0]


def test_the_adopted_tree_is_known_at_another_address() -> None:
    target = tree(topic("theirs", {0: [0]}))
    target.source = "other-host:2181"
    plan, then = released(EVERYTHING, EVERYTHING, target)
    assert then.nodes == target.nodes
    assert plan.ops == []


def test_an_interrupted_release_to_a_fresh_tree_goes_on() -> None:
    whole = plan_release(HERE, registry(EVERYTHING, EVERYTHING, source=None), EMPTY)
    for count in range(len(whole.ops)):
        begun = after(EMPTY, whole.ops[:count])
        begun.tree_id = "2b-1800000000000" if paths.BROKER_TOPICS in begun.nodes else None
        _, then = released(EVERYTHING, EVERYTHING, begun, source=None)
        assert then.nodes == after(EMPTY, whole.ops).nodes


def test_an_interrupted_release_writes_the_states_of_other_brokers_partitions() -> None:
    before = {**topic("t", {0: [0], 1: [1, 2]})}
    before[paths.partition_state("t", 1)] = encode_partition_state(PartitionStateNode(2, 7, (2,), 3))
    whole = plan_release(HERE, registry(before, before), EMPTY)
    begun = after(EMPTY, whole.ops[: 1 + [each.path for each in whole.ops].index(paths.topic("t"))])
    begun.tree_id = "2b-1800000000000"
    _, then = released(before, before, begun)
    assert then.nodes == after(EMPTY, whole.ops).nodes


def test_guesses_give_way_to_a_tree_that_knows_better() -> None:
    guessed = {**topic("t", {0: [0]}, settings={"retention.ms": "-1"}), **topic("gone", {0: [0]})}
    now = {**topic("t", {0: [0]}, settings={"retention.ms": "-1"}), **topic("new", {0: [0]})}
    knows = {**topic("t", {0: [0], 1: [1]}, settings={"a": "1"}), **topic("gone", {0: [0]}, settings={"b": "2"})}
    _, then = released(now, guessed, tree(knows), source=None)
    assert decode_config(then.nodes[paths.topic_config("t")]) == {"a": "1"}
    assert then.nodes[paths.topic("t")] == knows[paths.topic("t")]
    assert paths.topic("new") in then.nodes
    assert not {paths.topic("gone"), paths.topic_config("gone")} & then.nodes.keys()
    changed = {**now, **topic("t", {0: [0]}, settings={"retention.ms": "5"})}
    plan = plan_release(HERE, registry(changed, guessed, source=None), tree(knows))
    assert texts(plan.findings, Kind.BLOCKED)[0].startswith("settings of topic t: was changed here and in ZooKeeper")


MOVED = topic("t", {0: [1, 2]}, leader=1, epoch=3)


@pytest.mark.parametrize(
    ("source", "before", "now", "theirs", "partition"),
    [
        # Another broker's partition, of which the directory has an old copy.
        (None, topic("t", {0: [0]}), topic("t", {0: [0]}, epoch=6), MOVED, 0),
        # The topic had more partitions before it was created again.
        (None, topic("t", {0: [0], 1: [0]}), topic("t", {0: [0], 1: [0]}), topic("t", {0: [0]}), 1),
        # Kafka moved the partition meanwhile.
        ("zk:2181", topic("t", {0: [0, 1]}), topic("t", {0: [0, 1]}, epoch=6, isr=(0,)), MOVED, 0),
    ],
    ids=["stray", "fewer partitions", "moved"],
)
def test_a_partition_that_the_tree_does_not_assign_to_this_broker_stays_as_it_is(
    source: str | None, before: Nodes, now: Nodes, theirs: Nodes, partition: int
) -> None:
    # The other topic shows that the rest is written.
    led = topic("led", {0: [0]}, epoch=7)
    target = tree({**theirs, **topic("led", {0: [0]}, epoch=4)})
    plan, then = released({**now, **led}, {**before, **led}, target, source=source)
    (note,) = texts(plan.findings, Kind.NOTE)
    assert note.startswith(f"topic t: ZooKeeper does not assign partitions {partition} to broker 0: ")
    assert then.nodes == {**tree(theirs).nodes, **led}


def test_a_guess_that_was_not_in_sync_blocks() -> None:
    guess = topic("t", {0: [0]})
    theirs = topic("t", {0: [1, 0]}, leader=1, epoch=3, isr=(1,))
    plan = plan_release(HERE, registry(guess, guess, source=None), tree(theirs))
    (blocked,) = texts(plan.findings, Kind.BLOCKED)
    assert blocked.startswith("topic t: was led here, but broker 0 is not in sync in ZooKeeper, partitions 0: ")
    # Each of the two copies can be chosen.
    ours_wins = topic("t", {0: [1, 0]}, leader=1, epoch=3, isr=(1, 0))
    _, then = released(guess, guess, tree(ours_wins), source=None)
    assert (state(then, "t").leader, state(then, "t").isr) == (0, (0,))
    _, then = released(topic("t", {0: [0]}, leader=-1), guess, tree(theirs), source=None)
    assert state(then, "t").leader == 1


def test_another_tree_that_says_something_else_blocks() -> None:
    theirs = {**EVERYTHING, "/config/users/u": encode_config({"producer_byte_rate": "2"})}
    plan = plan_release(HERE, registry(EVERYTHING, EVERYTHING), tree(theirs, tree_id="2b-1"))
    assert texts(plan.findings, Kind.BLOCKED)[0].startswith("settings of user u: ")
    # Nodes without data only hold others.
    theirs = {**EVERYTHING, "/brokers/seqid": b""}
    _, then = released(EVERYTHING, EVERYTHING, tree(theirs, tree_id="2b-1"))
    assert then.nodes == tree(theirs).nodes


def test_what_was_added_at_the_adoption_is_new_to_the_adopted_tree() -> None:
    nodes = topic("t", {0: [0]})
    ours, target = registry(nodes, nodes), tree(nodes)
    del target.nodes[paths.CLUSTER_ID]
    ours.nodes[ADOPTED] = encode_adopted(
        Adopted("zk:2181", TREE_ID, tree(nodes).nodes, frozenset([paths.CLUSTER_ID])), 0
    )
    plan = plan_release(HERE, ours, target)
    assert after(target, plan.ops).nodes == tree(nodes).nodes


def test_a_tree_that_cannot_be_understood_blocks() -> None:
    target = tree({**topic("t", {0: [0]}), paths.topic("torn"): b'{"partit'})
    plan = plan_release(HERE, registry(EVERYTHING, None), target)
    assert plan.ops == []
    (told,) = texts(plan.findings, Kind.BLOCKED)
    assert told.startswith("zk:2181/brokers/topics/torn: has invalid data")


def test_what_blocks() -> None:
    plan = plan_release(HERE, registry({}, None), tree({}, cluster="x" * 22))
    assert f"is the tree of cluster {'x' * 22}" in texts(plan.findings, Kind.BLOCKED)[0]
    plan = plan_release(HERE, registry({}, None), tree({}, live=[0]))
    assert "broker 0 is registered" in texts(plan.findings, Kind.BLOCKED)[0]
    in_use, stranger = directory(), directory(cluster_id="y" * 22)
    in_use.is_in_use = True
    plan = plan_release([in_use, stranger, DirectoryFacts(HERE[0].path)], registry({}, None), tree({}))
    assert len(texts(plan.findings, Kind.BLOCKED)) == 3
    assert plan.cluster_id == CLUSTER


OTHER = "x" * 22


def test_a_made_up_cluster_id_gives_way_to_that_of_a_tree_that_is_named() -> None:
    mine = topic("t", {0: [0]}, epoch=9)
    ours, target = registry(mine, mine, source=None, has_made_up_id=True), tree(topic("t", {0: [0]}), cluster=OTHER)
    for told, text in (
        (None, f"If this is the right tree, confirm it with --cluster-id {OTHER}"),
        (CLUSTER, f"is the tree of cluster {OTHER}, not of {CLUSTER}"),
    ):
        plan = plan_release(HERE, ours, target, told_cluster_id=told)
        assert plan.ops == []
        assert text in texts(plan.findings, Kind.BLOCKED)[0]
    plan = plan_release(HERE, ours, target, told_cluster_id=OTHER)
    assert plan.cluster_id == OTHER
    then = after(target, plan.ops)
    assert then.nodes[paths.CLUSTER_ID] == target.nodes[paths.CLUSTER_ID]
    assert find_missing(plan, ours, target, then) == []
    # It was interrupted when the directories had their new id.
    for here in (HERE, [directory(cluster_id=OTHER)]):
        again = plan_release(here, ours, then, told_cluster_id=OTHER)
        assert (again.ops, again.findings) == ([], [])


def test_a_cluster_id_that_was_known_gives_way_to_none() -> None:
    for adopted in (None, {}):
        plan = plan_release(HERE, registry({}, adopted), tree({}, cluster=OTHER), told_cluster_id=OTHER)
        assert texts(plan.findings, Kind.BLOCKED) == [
            f"zk:2181: is the tree of cluster {OTHER}, but the directory belongs to {CLUSTER}"
        ]


def test_a_tree_without_a_cluster_id_is_not_the_one_that_is_named() -> None:
    ours = registry({}, {}, source=None, has_made_up_id=True)
    plan = plan_release(HERE, ours, TreeCopy("zk:2181/new"), told_cluster_id=OTHER)
    assert f"is a tree without a cluster id, not of {OTHER}" in texts(plan.findings, Kind.BLOCKED)[0]
    assert not plan_release(HERE, ours, TreeCopy("zk:2181/new")).is_blocked


_SETTINGS = st.dictionaries(st.sampled_from("abcd"), st.sampled_from("12"), max_size=3)


@given(_SETTINGS, _SETTINGS, _SETTINGS)
def test_a_plan_does_what_the_rules_say(base: dict[str, str], ours: dict[str, str], theirs: dict[str, str]) -> None:
    def nodes(settings: dict[str, str]) -> Nodes:
        return {f"/config/users/{name}": encode_config({"v": value}) for name, value in settings.items()}

    plan = plan_release(HERE, registry(nodes(ours), nodes(base)), tree(nodes(theirs)))
    names = base.keys() | ours.keys() | theirs.keys()
    conflicts = {n for n in names if ours.get(n) != base.get(n) != theirs.get(n) and ours.get(n) != theirs.get(n)}
    assert plan.is_blocked == bool(conflicts)
    if not conflicts:
        _, then = released(nodes(ours), nodes(base), tree(nodes(theirs)))
        merged = {n: ours.get(n) if ours.get(n) != base.get(n) else theirs.get(n) for n in names}
        found = {paths.name(p): decode_config(d)["v"] for p, d in then.nodes.items() if p.startswith("/config/users/")}
        assert found == {name: value for name, value in merged.items() if value is not None}
