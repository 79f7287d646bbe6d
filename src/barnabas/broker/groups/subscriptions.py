"""The topics to which the members of a consumer group subscribe, decoded from their JoinGroup metadata.

| field | type | |
| --- | --- | --- |
| version | int16 | ignored: version 0 is a prefix of all versions |
| topics | array of string | |
| user data | nullable bytes | |

Members of a group usually read the same topics. A rebalance of 500 members with 1,000 topics each would decode half a
million names on the event loop; so topic lists that were decoded before are recognised by their bytes.

Source: ConsumerProtocolSubscription; KIP-429 (version 1).
"""

from collections.abc import Iterable
from struct import Struct

from barnabas.core.errors import ProtocolError
from barnabas.wire.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from barnabas.wire.protocol.wire import REQUEST_ELEMENT_LIMIT, Budget

_VERSION_BYTES = 2
_STRING_LENGTH_BYTES = 2
_LENGTH = Struct(">i")
# The most recognised topic lists. Further lists are decoded for each member.
_MOST_RECOGNISED = 8
# The most elements that are decoded: as many as take a third of a second. The topics of a member whose list is not
# recognised count again.
_MOST_DECODED = 4 * REQUEST_ELEMENT_LIMIT


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """Return all topics of some subscriptions; None if one of them cannot be decoded, or if there are too many."""
    topics: set[str] = set()
    # differs from Kafka (subscribed-topics): Kafka decodes any number of topics.
    budget = Budget(_MOST_DECODED)
    recognised: list[bytes] = []
    for subscription in subscriptions:
        known = next((known for known in recognised if subscription.startswith(known, _VERSION_BYTES)), None)
        if known is None:
            try:
                decoded, _ = ConsumerProtocolSubscription.decode(0, memoryview(subscription), _VERSION_BYTES, budget)
            except ProtocolError:
                return None
            topics.update(decoded.topics)
            if len(recognised) < _MOST_RECOGNISED:
                recognised.append(_encoded_topics(subscription, decoded.topics))
        elif not _has_user_data(subscription, _VERSION_BYTES + len(known)):
            return None
    return frozenset(topics) if len(topics) <= REQUEST_ELEMENT_LIMIT else None


def _encoded_topics(subscription: bytes, topics: list[str]) -> bytes:
    """Return the encoded topics of a subscription with their count: equal bytes mean equal topics."""
    size = _LENGTH.size + sum(_STRING_LENGTH_BYTES + len(topic.encode()) for topic in topics)
    return subscription[_VERSION_BYTES : _VERSION_BYTES + size]


def _has_user_data(subscription: bytes, position: int) -> bool:
    """Return whether the field after the topics is complete."""
    left = len(subscription) - position - _LENGTH.size
    return left >= 0 and _LENGTH.unpack_from(subscription, position)[0] <= left
