"""The judge of groups that live in ZooKeeper: it sees each kind of mistake, and nothing where there is none."""

from tests.compat.old_consumers.judge import (
    Commit,
    Delivery,
    Rebalance,
    doubled,
    gone_back,
    missing,
    needless,
    range_rule,
    wrong_owners,
)

T0 = ("t", 0)


def delivery(offset: int, at_ms: int, member: str = "a") -> Delivery:
    return Delivery(member, T0, offset, at_ms)


def test_the_first_threads_get_what_does_not_come_out_even() -> None:
    owners = range_rule({"t": 5}, {"g_b": {"t": 1}, "g_a": {"t": 2}})
    assert owners == {("t", 0): "g_a-0", ("t", 1): "g_a-0", ("t", 2): "g_a-1", ("t", 3): "g_a-1", ("t", 4): "g_b-0"}


def test_more_threads_than_partitions_leave_the_last_without() -> None:
    assert range_rule({"t": 1}, {"a": {"t": 1}, "b": {"t": 1}}) == {T0: "a-0"}


def test_threads_are_ordered_as_texts() -> None:
    owners = range_rule({"t": 12}, {"a": {"t": 12}})
    assert [owners["t", partition] for partition in (1, 2, 3, 4)] == ["a-1", "a-10", "a-11", "a-2"]
    # The text of the thread counts, not that of its consumer: "-" is below ".".
    assert range_rule({"t": 2}, {"a": {"t": 1}, "a.b": {"t": 1}})["t", 0] == "a-0"


def test_each_topic_is_dealt_to_those_that_read_it() -> None:
    owners = range_rule({"t": 1, "u": 1, "v": 1}, {"a": {"t": 1}, "b": {"t": 1, "u": 1}})
    assert owners == {T0: "a-0", ("u", 0): "b-0"}


def test_wrong_owners_are_named() -> None:
    assert wrong_owners({T0: "a-0"}, {T0: "a-0"}) == []
    assert wrong_owners({T0: "a-0"}, {}) == ["t-0: owned by None, should be a-0"]
    assert wrong_owners({}, {T0: "b-0"}) == ["t-0: owned by b-0, should be None"]


def test_a_message_that_nobody_got_is_missing() -> None:
    assert missing([(T0, 0), (T0, 1)], [delivery(1, 5)]) == ["t-0 offset 0: never delivered"]
    assert missing([(T0, 1)], [delivery(0, 4), delivery(1, 5)]) == []


def test_twice_needs_a_rebalance_between() -> None:
    twice = [delivery(7, 100), delivery(7, 200, "b")]
    assert doubled(twice, [Rebalance(150, 160)]) == []
    assert doubled(twice, [Rebalance(50, 100)]) == []
    assert len(doubled(twice, [Rebalance(50, 99), Rebalance(201, 300)])) == 1
    assert len(doubled(twice, [])) == 1


def test_three_times_needs_two() -> None:
    thrice = [delivery(7, 300), delivery(7, 100), delivery(7, 200)]
    assert len(doubled(thrice, [Rebalance(150, 150)])) == 1
    assert doubled(thrice, [Rebalance(150, 150), Rebalance(250, 250)]) == []


def test_twice_needs_a_crash_among_ours() -> None:
    twice = [delivery(7, 100), delivery(7, 200, "b")]
    assert len(needless(twice, [])) == len(needless(twice, ["c"])) == 1
    assert needless(twice, ["a"]) == needless(twice, ["b"]) == []


STORES = {"a": {"zookeeper"}, "b": {"zookeeper"}, "c": {"zookeeper", "kafka"}, "d": {"kafka"}}
COMMITS = [Commit("zookeeper", T0, 8, 150), Commit("kafka", T0, 7, 150)]


def again(offset: int, member: str, looked_ms: int = 160) -> list[str]:
    """What is wrong where one reads again what another has read before."""
    looks = [Rebalance(looked_ms, looked_ms + 30, member), Rebalance(10, 20, member), Rebalance(300, 310, member)]
    return gone_back([delivery(offset, 100), delivery(offset, 200, member)], COMMITS, looks, STORES)


def test_what_was_committed_does_not_come_again() -> None:
    assert again(7, "b") == [
        "t-0 offset 7: delivered to a, committed up to 8 in zookeeper, and again to b, which looked at 160"
    ]
    # Not committed; committed after it had looked, or where it does not look.
    assert again(8, "b") == []
    assert again(7, "b", looked_ms=150) == []
    assert again(7, "d") == []
    # Of two stores the larger holds.
    assert len(again(7, "c")) == 1


def test_what_is_late_has_not_gone_back() -> None:
    assert gone_back([delivery(7, 200)], COMMITS, [Rebalance(160, 170, "a")], STORES) == []


def test_a_commit_that_was_taken_back_does_not_count() -> None:
    commits = [Commit("zookeeper", T0, 8, 120), Commit("zookeeper", T0, 5, 150)]
    twice = [delivery(7, 100), delivery(7, 200, "b")]
    assert gone_back(twice, commits, [Rebalance(160, 170, "b")], STORES) == []
    looks = [Rebalance(130, 170, "b")]
    assert len(gone_back(twice, commits, looks, STORES)) == 1
    assert len(gone_back(twice, commits, looks, STORES, [Rebalance(110, 199)])) == 1
    assert gone_back(twice, commits, looks, STORES, [Rebalance(110, 200)]) == []
