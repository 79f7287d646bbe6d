"""The answer to Metadata, with each topic's part encoded once and reused while it is unchanged.

A topic's part depends on its partitions, on the brokers that are alive and reachable through the client's listener, on
the version, and on whether the allowed operations were requested. The first is compared by identity: an image shares
the partitions of an unchanged topic with the image before it. The others are the `Kind` of the bytes.

Invariants: at most `MOST_KINDS` kinds are kept, the most recently requested ones; parts of deleted topics and of
changed brokers are dropped by the next request of that kind.

Source: protocol guide, Metadata.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from struct import Struct
from typing import Final

from barnabas.broker.cluster.image import ClusterImage, PartitionState
from barnabas.wire.protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from barnabas.wire.protocol.wire import WireBuffer, write_uvarint

MOST_KINDS: Final = 4

_FIRST_FLEXIBLE: Final = 9
# Bytes after the topics, by version: cluster_authorized_operations, and the tagged section.
_TAIL_BYTES: Final = (0, 0, 0, 0, 0, 0, 0, 0, 4, 5)
_pack_count = Struct(">i").pack

_Encode = Callable[[MetadataResponse, WireBuffer], None]


class MetadataAnswer(MetadataResponse):
    """An answer with encoded topics.

    Attributes:
        parts: Each topic's part, in the order of the answer; `topics` is empty if there are parts.
    """

    __slots__ = ("parts",)

    parts: list[bytes]

    @staticmethod
    def count_errors(answer: MetadataResponse, counts: "defaultdict[int, int]") -> None:
        """Count the error codes of topics; see `error_counts`. A part begins with its topic's error code."""
        parts = answer.parts if isinstance(answer, MetadataAnswer) else ()
        codes = [part[0] << 8 | part[1] for part in parts] or [topic.error_code for topic in answer.topics]
        for code in codes:
            counts[code] += 1


class KindOfParts:
    """The parts of all topics for clients that get the same answer.

    Attributes:
        reachable: The brokers that are alive and have the client's listener.
    """

    __slots__ = ("_alive", "_brokers", "_parts", "_topics", "reachable")

    def __init__(self, image: ClusterImage, reachable: frozenset[int]) -> None:
        self._topics = image.topics
        self._brokers = image.brokers
        self._alive = image.brokers.keys()
        self._parts: dict[str, tuple[Mapping[int, PartitionState], bytes]] = {}
        self.reachable = reachable

    def holds_for(self, image: ClusterImage, listener_name: str) -> bool:
        """Return whether live and reachable brokers are unchanged; drops the parts of deleted topics."""
        if self._brokers is not image.brokers:
            if self._alive != image.brokers.keys() or self.reachable != reachable_brokers(image, listener_name):
                return False
            self._brokers = image.brokers
        if self._topics is not image.topics:
            for name in self._parts.keys() - image.topics.keys():
                del self._parts[name]
            self._topics = image.topics
        return True

    def __len__(self) -> int:
        """Return the number of topics whose parts are kept."""
        return len(self._parts)

    def find(self, name: str, partitions: Mapping[int, PartitionState]) -> bytes | None:
        """Return a topic's part; None: not built since the topic's partitions changed."""
        kept = self._parts.get(name)
        return kept[1] if kept is not None and kept[0] is partitions else None

    def keep(self, name: str, partitions: Mapping[int, PartitionState], part: bytes) -> None:
        # A large request may use an older image than the newest request.
        if self._topics.get(name) is partitions:
            self._parts[name] = (partitions, part)


class TopicParts:
    """The kinds of parts used most recently. Owned by the event loop."""

    __slots__ = ("_kinds",)

    def __init__(self) -> None:
        self._kinds: dict[tuple[int, str, bool], KindOfParts] = {}

    def __len__(self) -> int:
        """Count the kinds that are kept."""
        return len(self._kinds)

    def of(self, image: ClusterImage, api_version: int, listener_name: str, with_operations: bool) -> KindOfParts:
        """Return the parts for clients of this version, listener and choice of operations."""
        key = (api_version, listener_name, with_operations)
        kinds = self._kinds
        kind = kinds.pop(key, None)
        if kind is None or not kind.holds_for(image, listener_name):
            kind = KindOfParts(image, reachable_brokers(image, listener_name))
            if len(kinds) == MOST_KINDS:
                del kinds[next(iter(kinds))]
        kinds[key] = kind
        return kind


def reachable_brokers(image: ClusterImage, listener_name: str) -> frozenset[int]:
    """Return the live brokers that have a listener."""
    return frozenset(broker.broker_id for broker in image.brokers.values() if listener_name in broker.endpoints)


def encoded_topic(api_version: int, topic: MetadataResponseTopic) -> bytes:
    """Return a topic's part of an answer.

    Raises:
        EncodeError, *UNSAYABLE: The version cannot represent the topic.
    """
    out = WireBuffer()
    encode = MetadataResponse.ENCODERS[api_version]
    assert encode is not None
    encode(MetadataResponse(topics=[topic]), out)
    return bytes(out[_HEAD_BYTES[api_version] : len(out) - _TAIL_BYTES[api_version]])


def with_rights(api_version: int, part: bytes, operations: int) -> bytes:
    """Return a copy of a topic's part with other authorized operations.

    Args:
        operations: As bits.
    """
    # They are the last field, before an empty tagged section in flexible versions.
    tail_bytes = 1 if api_version >= _FIRST_FLEXIBLE else 0
    end = len(part) - tail_bytes
    return part[: end - 4] + _pack_count(operations) + part[end:]


def _encoder(api_version: int, encode: _Encode) -> _Encode:
    tail_bytes = _TAIL_BYTES[api_version]
    is_flexible = api_version >= _FIRST_FLEXIBLE
    # Without topics their count is 0, which takes four bytes, or one as a uvarint.
    from_count_bytes = tail_bytes + (1 if is_flexible else 4)

    def encode_answer(answer: MetadataResponse, out: WireBuffer) -> None:
        encode(answer, out)
        # Any other answer is a refusal, or was replaced by a test kit.
        parts = answer.parts if isinstance(answer, MetadataAnswer) else None
        if not parts:
            return
        end = len(out)
        tail = out[end - tail_bytes :]
        del out[end - from_count_bytes :]
        if is_flexible:
            write_uvarint(len(parts) + 1, out)
        else:
            out += _pack_count(len(parts))
        out += parts[0] if len(parts) == 1 else b"".join(parts)
        out += tail

    return encode_answer


def _head_bytes(api_version: int) -> int:
    out = WireBuffer()
    MetadataResponse().encode(api_version, out)
    return len(out) - _TAIL_BYTES[api_version]


_HEAD_BYTES: Final = tuple(map(_head_bytes, range(len(_TAIL_BYTES))))

MetadataAnswer.ENCODERS = tuple(
    None if encode is None else _encoder(version, encode) for version, encode in enumerate(MetadataResponse.ENCODERS)
)
