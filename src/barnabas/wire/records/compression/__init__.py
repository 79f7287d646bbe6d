"""The codecs of record batches, one module each, loaded on first use.

Invariant: decompression never returns more than `max_bytes`, and takes memory in proportion to its output, whatever
size the input claims; damaged input raises `CorruptRecordsError` and nothing else.

Source: implementation page, message format; KIP-110 (zstd), KIP-57 (lz4 framing).
"""

from barnabas.wire.records.batch import Buffer, Codec
from barnabas.wire.records.errors import CorruptRecordsError


def compress(codec: int, data: Buffer) -> bytes:
    """Compress records as Kafka's producers frame them.

    Raises:
        ValueError: There is no such codec.
    """
    match codec:
        case Codec.NONE:
            return bytes(data)
        case Codec.GZIP:
            from barnabas.wire.records.compression import gzip

            return gzip.compress(data)
        case Codec.SNAPPY:
            from barnabas.wire.records.compression import snappy

            return snappy.compress(data)
        case Codec.LZ4:
            from barnabas.wire.records.compression import lz4

            return lz4.compress(data)
        case Codec.ZSTD:
            from barnabas.wire.records.compression import zstd

            return zstd.compress(data)
    raise ValueError(f"codec {codec} does not exist")


def decompress(codec: int, data: Buffer, max_bytes: int) -> bytes:
    """Decompress the records of a batch.

    Args:
        codec: Its number in the attributes.
        data: The whole compressed block.
        max_bytes: The largest output that is accepted, at least 0.

    Raises:
        CorruptRecordsError: The data is damaged, cut short, or larger than `max_bytes` when unpacked; or there is
            no such codec.
    """
    match codec:
        case Codec.NONE:
            if len(data) > max_bytes:
                raise CorruptRecordsError(f"{len(data)} bytes of records are more than {max_bytes}")
            return bytes(data)
        case Codec.GZIP:
            from barnabas.wire.records.compression import gzip

            return gzip.decompress(data, max_bytes)
        case Codec.SNAPPY:
            from barnabas.wire.records.compression import snappy

            return snappy.decompress(data, max_bytes)
        case Codec.LZ4:
            from barnabas.wire.records.compression import lz4

            return lz4.decompress(data, max_bytes)
        case Codec.ZSTD:
            from barnabas.wire.records.compression import zstd

            return zstd.decompress(data, max_bytes)
    raise CorruptRecordsError(f"codec {codec} does not exist")
