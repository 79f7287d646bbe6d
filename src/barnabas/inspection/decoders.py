"""Decoders of record keys and values to text, in the form of Kafka's DumpLogSegments.

Source: cli facts, kafka-dump-log.
"""

from collections.abc import Callable
from struct import Struct

from barnabas.core.errors import ProtocolError
from barnabas.inspection.stored_batch import StoredRecord

Decoder = Callable[[bytes], str]
RecordDecoder = Callable[[StoredRecord], tuple[str | None, str | None]]
"""The key and value of a record as text; None if not shown."""

DEFAULT_DECODER = "kafka.serializer.StringDecoder"

_NUMBERS = {"kafka.serializer.IntegerDecoder": Struct(">i"), "kafka.serializer.LongDecoder": Struct(">q")}
_BYTES = "kafka.serializer.DefaultDecoder"

DECODER_CLASSES = (DEFAULT_DECODER, *_NUMBERS, _BYTES)


def decoder_of(class_name: str) -> Decoder:
    """Return the decoder for one of Kafka's class names.

    Raises:
        KeyError: The name is not in `DECODER_CLASSES`.
    """
    if class_name == DEFAULT_DECODER:
        return lambda data: data.decode(errors="replace")
    if class_name == _BYTES:
        # differs from Kafka (dump-bytes-decoder): which shows the place of the bytes in its memory.
        return bytes.hex
    return _number_decoder(_NUMBERS[class_name])


def plain(decode_key: Decoder, decode_value: Decoder) -> RecordDecoder:
    """Decode keys and values with the given decoders; null is not shown."""

    def decode(record: StoredRecord) -> tuple[str | None, str | None]:
        return (
            None if record.key is None else decode_key(record.key),
            None if record.value is None else decode_value(record.value),
        )

    return decode


def _number_decoder(layout: Struct) -> Decoder:
    def decode(data: bytes) -> str:
        if len(data) < layout.size:
            raise ProtocolError(f"{len(data)} bytes are too short for a number of {layout.size}")
        return str(layout.unpack_from(data)[0])

    return decode
