"""The high-level consumer, whose group state is in ZooKeeper.

    connector          ConsumerConnector: the API
    stream             its streams: iterators of messages
    topic_filter       white and black lists
    decoders, errors, settings

    running            one consumer on its loop, composed of the parts below
    membership         registration, owners, watches, rebalance
    group_reader       a member's reads and watches
    state, group_view  the decisions, pure; `assignment` has the assignment rules
    consumption        the owned partitions: `fetcher`, `offset_storage`, `cluster`

Source: design and implementation documents, the consumer, distribution.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.api.connector.connector import ConsumerConnector
    from barnabas.api.connector.decoders import Decoder, DefaultDecoder, StringDecoder
    from barnabas.api.connector.errors import (
        ConsumerRebalanceFailedError,
        ConsumerTimeoutError,
        MessageStreamsExistError,
        OffsetCommitError,
    )
    from barnabas.api.connector.stream import KafkaStream, MessageAndMetadata
    from barnabas.api.connector.topic_filter import BlackList, TopicFilter, WhiteList

__all__ = [
    "BlackList",
    "ConsumerConnector",
    "ConsumerRebalanceFailedError",
    "ConsumerTimeoutError",
    "Decoder",
    "DefaultDecoder",
    "KafkaStream",
    "MessageAndMetadata",
    "MessageStreamsExistError",
    "OffsetCommitError",
    "StringDecoder",
    "TopicFilter",
    "WhiteList",
]

_MODULES = {
    "BlackList": "topic_filter",
    "ConsumerConnector": "connector",
    "ConsumerRebalanceFailedError": "errors",
    "ConsumerTimeoutError": "errors",
    "Decoder": "decoders",
    "DefaultDecoder": "decoders",
    "KafkaStream": "stream",
    "MessageAndMetadata": "stream",
    "MessageStreamsExistError": "errors",
    "OffsetCommitError": "errors",
    "StringDecoder": "decoders",
    "TopicFilter": "topic_filter",
    "WhiteList": "topic_filter",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
