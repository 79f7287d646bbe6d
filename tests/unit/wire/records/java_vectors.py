"""Reads the answers of Kafka 2.7.2 that the `*-java-2.7.2.tsv` files hold, and compares data with them.

What a codec makes of the same bytes is its own affair: compressed data is compared unpacked, headers without length
and CRC.
"""

from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from barnabas.wire.records.batch import MAGIC, MAGIC_POSITION, Buffer, read_header
from barnabas.wire.records.formats import batches_of_any_magic, is_any_crc_valid
from barnabas.wire.records.legacy import decompress_value, read_message_header, wrapped_value
from barnabas.wire.records.record import read_payload

MAX_BYTES = 1 << 20


def gathered(name: str, column_count: int) -> list[ParameterSet]:
    """The lines of a file as parameters: so many columns one by one, the others in a list."""
    text = Path(__file__).with_name(f"{name}-java-2.7.2.tsv").read_text()
    lines = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    return [pytest.param(*line[:column_count], line[column_count:], id=line[0]) for line in lines]


def unpacked(data: Buffer) -> list[tuple[object, ...]]:
    """Everything in a run of batches that does not depend on how a codec packs it."""
    found: list[tuple[object, ...]] = []
    for batch in batches_of_any_magic(data):
        assert is_any_crc_valid(batch)
        if batch[MAGIC_POSITION] == MAGIC:
            header = read_header(batch)
            payload = read_payload(batch, header, MAX_BYTES)
            found.append((*header._replace(batch_length=0, crc=0), payload))
            continue
        message = read_message_header(batch)
        if message.codec:
            value = decompress_value(message, wrapped_value(batch, message), MAX_BYTES)
            found.append((*message._replace(size=0, crc=0), value))
        else:
            found.append((bytes(batch),))
    return found
