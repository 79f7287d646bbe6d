from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.controller.assignment import alternate_racks, assign
from barnabas.broker.controller.state import LiveBroker, compare_brokers
from barnabas.wire.registry.znodes.brokers import BrokerRegistration


def test_a_broker_that_came_back_failed_and_started() -> None:
    def brokers(**epochs: int) -> dict[int, LiveBroker]:
        return {int(key[1:]): LiveBroker(BrokerRegistration(int(key[1:]), ()), epoch) for key, epoch in epochs.items()}

    change = compare_brokers(brokers(b0=1, b1=2, b2=3), brokers(b0=1, b2=9, b3=10))
    assert change == ([3], [2], [1])


def test_assignment_spreads_leaders_and_followers() -> None:
    """The example of Kafka's documentation: five brokers, ten partitions, replication factor 3."""
    assert assign(dict.fromkeys(range(5)), 10, 3, 0, 0) == {
        0: [0, 1, 2],
        1: [1, 2, 3],
        2: [2, 3, 4],
        3: [3, 4, 0],
        4: [4, 0, 1],
        5: [0, 2, 3],
        6: [1, 3, 4],
        7: [2, 4, 0],
        8: [3, 0, 1],
        9: [4, 1, 2],
    }


def test_brokers_of_a_rack_are_not_neighbours() -> None:
    assert alternate_racks({0: "a", 1: "c", 2: "c", 3: "b", 4: "a", 5: "b"}) == [0, 3, 1, 4, 5, 2]


@given(
    st.dictionaries(st.integers(0, 9), st.sampled_from("abc"), min_size=1, max_size=8), st.integers(1, 20), st.data()
)
def test_every_replica_is_on_another_broker_and_as_many_racks_as_there_are(
    racks: dict[int, str | None], partition_count: int, data: st.DataObject
) -> None:
    replication_factor = data.draw(st.integers(1, len(racks)))
    start, shift = data.draw(st.integers(0, len(racks) - 1)), data.draw(st.integers(0, len(racks) - 1))
    if data.draw(st.booleans()):
        racks = {**racks, 99: None}
    assignment = assign(racks, partition_count, replication_factor, start, shift)
    assert list(assignment) == list(range(partition_count))
    for replicas in assignment.values():
        assert len(set(replicas)) == len(replicas) == replication_factor
        assert set(replicas) <= racks.keys()
        if None not in racks.values():
            assert len({racks[each] for each in replicas}) == min(replication_factor, len(set(racks.values())))
