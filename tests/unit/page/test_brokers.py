"""What the page tells of brokers, of clusters that were made up."""

from barnabas.clients.admin_replicas import Reassignment
from barnabas.clients.cluster_state import Broker, Cluster
from barnabas.page.views.brokers import broker_row, directory_rows, lacking_rows, moving_row
from tests.unit.explain.worlds import VIEWS, directory, partition, snapshot


def test_a_broker_may_stop_when_others_have_what_it_has():
    world = snapshot(partition(VIEWS[0]), partition(VIEWS[1], leader_id=2, isr=[2, 1]), away=[3])
    first, second, third = (broker_row(world, each) for each in world.cluster.brokers.values())
    assert (first.leader_count, first.in_sync_count, first.replica_count, first.is_controller) == (1, 2, 2, True)
    assert (first.may_stop, first.obstacles) == (False, ("acks=all would fail for views-0, views-1",))
    assert (second.may_stop, second.is_controller) == (False, False)
    assert (third.may_stop, third.failure, third.obstacles) == (None, "refused", ())
    assert broker_row(snapshot(partition()), world.cluster.brokers[1]).may_stop is True


def test_whether_it_may_stop_is_unknown_to_who_may_not_see_what_brokers_run():
    unknown = Broker(1, ("h", 9091), None, None, "", "rack-a")
    world = snapshot(cluster=Cluster("c", 1, {1: unknown}, [partition(replicas=[1], isr=[1])]))
    row = broker_row(world, unknown)
    assert (row.may_stop, row.obstacles, row.rack, row.failure) == (None, (), "rack-a", "")


def test_what_partitions_lack_is_listed_the_worst_first():
    rows = lacking_rows(
        [partition(VIEWS[0]), partition(VIEWS[1], isr=[1, 2], min_isr=1), partition(VIEWS[2], leader_id=-1, isr=[])]
    )
    assert [(row.partition, row.leader_id) for row in rows] == [(VIEWS[2], None), (VIEWS[1], 1)]
    assert rows[0].troubles == ("offline", "under min.insync.replicas", "under-replicated")
    assert rows[1].troubles == ("under-replicated",)


def test_a_reassignment_tells_how_far_the_last_added_replica_is_behind():
    world = snapshot(directories=[directory(1, behind={VIEWS[0]: 0}), directory(3, behind={VIEWS[0]: 70})])
    move = Reassignment([1, 2, 3], [3], [2])
    assert moving_row(world, VIEWS[0], move).behind == 70
    assert moving_row(world, VIEWS[1], move).behind is None


def test_directories_have_their_sizes_and_why_one_can_not_be_used():
    world = snapshot(
        directories=[directory(2, failure="KAFKA_STORAGE_ERROR", sizes={}), directory(total_bytes=9, free_bytes=4)]
    )
    first, second = directory_rows(world)
    assert (first.broker_id, first.log_count, first.log_bytes, first.free_bytes) == (1, 3, 3_000, 4)
    assert (second.failure, second.log_count, second.free_bytes) == ("KAFKA_STORAGE_ERROR", 0, None)
