"""What members of a consumer group read."""

import pytest

from barnabas.broker.groups.subscriptions import subscribed_topics
from barnabas.wire.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription, TopicPartition
from barnabas.wire.protocol.wire import REQUEST_ELEMENT_LIMIT
from tests.unit.broker.handling import encoded


def subscription(*topics, version=1, user_data=None, owned=()):
    partitions = [TopicPartition(topic, [0]) for topic in owned] if version else []
    data = encoded(ConsumerProtocolSubscription(list(topics), user_data, partitions), version)
    return version.to_bytes(2, "big") + data


@pytest.mark.parametrize(
    ("subscriptions", "topics"),
    [
        ([], set()),
        ([subscription()], set()),
        (
            [subscription("t", "ü"), subscription("t", "ü", owned=["t"]), subscription("t", "ü", user_data=b"d")],
            {"t", "ü"},
        ),
        ([subscription("t"), subscription("t", "u"), subscription("t", version=0)], {"t", "u"}),
        ([subscription(f"t{number}") for number in range(20)] * 2, {f"t{number}" for number in range(20)}),
    ],
)
def test_topics_of_all_members(subscriptions, topics):
    assert subscribed_topics(subscriptions) == topics


@pytest.mark.parametrize(
    "broken", [b"", b"\0\1\0", subscription("t")[:9], subscription("t", version=0)[:-1], b"\0\0\0\0\0\1\0\1t\0\0\0\1"]
)
def test_one_that_is_not_understood_hides_them_all(broken):
    assert subscribed_topics([broken]) is None
    assert subscribed_topics([subscription("t"), broken]) is None


def test_topics_that_begin_alike_are_told_apart():
    assert subscribed_topics([subscription("a"), subscription("ab"), subscription("a", "b")]) == {"a", "ab", "b"}


def test_more_topics_than_a_request_may_have_elements_are_unknown():
    half = REQUEST_ELEMENT_LIMIT // 2
    first, second = (subscription(*(f"{name}{number}" for number in range(half))) for name in "ab")
    topics = subscribed_topics([first, second] * 3)
    assert topics is not None
    assert len(topics) == 2 * half
    assert subscribed_topics([first, second, subscription("c")]) is None


def test_the_work_for_members_whose_lists_differ_is_bounded():
    names = [f"t{number}" for number in range(1_000)]
    lists = [subscription(*names[turn:], *names[:turn]) for turn in range(500)]
    assert subscribed_topics(lists[:300]) == set(names)
    assert subscribed_topics(lists) is None
