"""Recognises clients of Kafka 0.7 by their requests, and logs that their protocol is not supported.

Their protocol has no version and no correlation id: only the type of a request precedes its body. A current broker
reads the topic's length as a version, so such a request is nearly always unsupported or malformed.

    int16 type | 0 Produce, 1 Fetch, 4 Offsets: one body | 2 MultiFetch, 3 MultiProduce: int16 count, bodies

| body    | fields                                                              |
| ------- | ------------------------------------------------------------------- |
| Produce | topic, int32 partition (-1: any), int32 size, `size` bytes          |
| Fetch   | topic, int32 partition, int64 offset, int32 max size                |
| Offsets | topic, int32 partition, int64 time (-1, -2 or in ms), int32 count   |

A topic is an int16 length and that many letters, digits, dots, underscores and hyphens.

Invariant: a frame is recognised only if it matches this format to its last byte, and checked only after it was refused.
If it has very many bodies, only the first ones are checked, because the event loop waits for the check.

Source: legacy-0.7.md, wire.
"""

import logging
import re
from struct import Struct, error
from typing import Final

from barnabas.core.errors import ProtocolError

log = logging.getLogger(__name__)

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
# Partition and size; partition, offset or time, and a size or count.
_PRODUCE: Final = Struct(">ii")
_FETCH: Final = Struct(">iqi")
_NAMES: Final = ("Produce", "Fetch", "MultiFetch", "MultiProduce", "Offsets")
_OF_PRODUCE: Final = (0, 3)
_OF_SEVERAL: Final = (2, 3)
_MOST_BODIES: Final = 500
_LEAST_TIME: Final = -2
_ANY_PARTITION: Final = -1
# Above the values of any topic or log of 0.7, and of any time in ms for years to come; random numbers are larger.
_MOST_PARTITIONS: Final = 1 << 16
_MOST_OFFSET: Final = 1 << 48
_TOPIC: Final = re.compile(rb"[a-zA-Z0-9._-]{1,255}")

SILENCE_MS: Final = 600_000
"""The time between two log lines about the same address."""
MOST_ADDRESSES: Final = 1_000
"""The most addresses whose last log line is remembered."""


def request_of_0_7(frame: memoryview) -> str | None:
    """Return the name of the Kafka 0.7 request in a frame; None: it is not one.

    Args:
        frame: The request without its size.

    Returns:
        The request's name and the first topic, as text for the log.
    """
    try:
        (kind,) = _INT16.unpack_from(frame)
        if not 0 <= kind < len(_NAMES):
            return None
        count, position = 1, _INT16.size
        if kind in _OF_SEVERAL:
            (count,) = _INT16.unpack_from(frame, position)
            position += _INT16.size
        first_topic = ""
        for _ in range(min(count, _MOST_BODIES)):
            topic, position = _read_body(frame, position, kind)
            first_topic = first_topic or topic
    except (error, ValueError):
        return None
    is_whole = position == len(frame) or count > _MOST_BODIES
    return f"{_NAMES[kind]} of topic {first_topic}" if first_topic and is_whole else None


def _read_body(frame: memoryview, position: int, kind: int) -> tuple[str, int]:
    """Return the topic of one body, and its end.

    Raises:
        ValueError: The body is invalid.
        struct.error: The body is truncated.
    """
    (length,) = _INT16.unpack_from(frame, position)
    end = position + _INT16.size + max(length, 0)
    topic = bytes(frame[position + _INT16.size : end])
    if _TOPIC.fullmatch(topic) is None:
        raise ValueError("no topic")
    if kind in _OF_PRODUCE:
        partition, size = _PRODUCE.unpack_from(frame, end)
        end += _PRODUCE.size + size
        is_right = _ANY_PARTITION <= partition < _MOST_PARTITIONS and size >= 0
    else:
        partition, offset, size = _FETCH.unpack_from(frame, end)
        end += _FETCH.size
        is_right = 0 <= partition < _MOST_PARTITIONS and _LEAST_TIME <= offset < _MOST_OFFSET and size >= 0
    if not is_right or end > len(frame):
        raise ValueError("no such request")
    return topic.decode(), end


class ClientsOf07:
    """The addresses of Kafka 0.7 clients that were logged, with the time of the last line."""

    __slots__ = ("_said_ms",)

    def __init__(self) -> None:
        self._said_ms: dict[str, int] = {}

    def refusal(self, frame: memoryview, reason: ProtocolError, host: str, now_ms: int) -> ProtocolError:
        """Return the reason to close a connection after an invalid frame.

        Args:
            frame: The request without its size.
            reason: The error of the frame as a current request.
            host: The peer's address.
            now_ms: A monotonic time.

        Returns:
            `reason`; for a client of Kafka 0.7 an error without text, because the log contains a line about it.
        """
        request = request_of_0_7(frame)
        if request is None:
            return reason
        # differs from Kafka (kafka-0-7-clients): Kafka logs an error for each connection and does not name the cause.
        said = self._said_ms
        if now_ms - said.get(host, now_ms - SILENCE_MS) >= SILENCE_MS:
            # The newest is the last one.
            said.pop(host, None)
            said[host] = now_ms
            if len(said) > MOST_ADDRESSES:
                del said[next(iter(said))]
            log.warning(
                "Kafka 0.7 client at %s sent %s: protocol 0.7 is not supported, its connections are closed; "
                "use a client of Kafka 0.8 or later",
                host,
                request,
            )
        return ProtocolError("")
