from barnabas.broker.cluster.image import ClusterView, ImageChange, PartitionState
from barnabas.wire.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState2,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)


def update(
    topics: dict[str, dict[int, int]],
    brokers: tuple[int, ...] = (0,),
    controller_epoch: int = 1,
    broker_epoch: int = -1,
) -> UpdateMetadataRequest:
    """Topic to partition to leader."""
    return UpdateMetadataRequest(
        0,
        controller_epoch,
        broker_epoch=broker_epoch,
        topic_states=[
            UpdateMetadataTopicState(
                name,
                [
                    UpdateMetadataPartitionState2(index, 1, leader, 3, [0], 0, [0, 1], [1])
                    for index, leader in each.items()
                ],
            )
            for name, each in topics.items()
        ],
        live_brokers=[
            UpdateMetadataBroker(each, endpoints=[UpdateMetadataEndpoint(9092, "h", "PLAINTEXT", 0)], rack="r")
            for each in brokers
        ],
    )


def test_brokers_are_replaced_and_partitions_merged() -> None:
    view = ClusterView("c")
    view.update_metadata(update({"t": {0: 0}}, (0, 1)))
    before = view.image
    view.update_metadata(update({"t": {1: -1}, "u": {0: 0}}, (0,)))
    image = view.image
    assert image.topics["t"] == {
        0: PartitionState(0, 3, (0,), (0, 1), (1,)),
        1: PartitionState(-1, 3, (0,), (0, 1), (1,)),
    }
    assert (image.partition_count("t"), image.partition_count("none")) == (2, 0)
    assert (image.has_leaders("t", 2), image.has_leaders("u", 1), image.has_leaders("u", 2)) == (False, True, False)
    assert image.partition("none", 0) is None
    assert list(image.brokers) == [0]
    assert image.brokers[0] == (0, {"PLAINTEXT": ("h", 9092)}, "r")
    assert list(before.topics["t"]) == [0]
    assert list(before.brokers) == [0, 1]


def test_a_topic_that_is_deleted_goes_with_its_settings() -> None:
    view = ClusterView("c")
    changes: list[ImageChange] = []
    view.set_topic_overrides("t", {"a": "b"})
    view.update_metadata(update({"t": {0: 0, 1: 0}}))
    forget = view.on_change(changes.append)
    view.update_metadata(update({"t": {0: -2}}))
    assert (changes[-1].deleted_topics, view.image.partition_count("t")) == ([], 1)
    view.update_metadata(update({"t": {1: -2}, "none": {0: -2}}))
    assert (changes[-1].deleted_topics, "t" in view.image.topics) == (["t"], False)
    assert changes[-1].image is view.image
    assert view.topic_overrides("t") == {}
    forget()
    forget()
    view.update_metadata(update({}))
    assert len(changes) == 2


def test_what_no_topic_can_be_called_is_left_out() -> None:
    view = ClusterView("c")
    view.update_metadata(update({"": {0: 0}, "../../etc": {0: 0}, "a b": {0: 0}, "t": {0: 0}}))
    assert list(view.image.topics) == ["t"]


def test_negative_partition_numbers_are_left_out() -> None:
    view = ClusterView("c")
    view.update_metadata(update({"t": {-1: 0, 0: 0, -(2**31): 0}, "hostile": {-1: 0}}))
    assert {name: list(partitions) for name, partitions in view.image.topics.items()} == {"t": [0]}
