"""lz4: one frame of independent blocks of 64 KiB.

Java's reader refuses blocks that lean on the ones before them, which the library writes by default.

Source: KIP-57; LZ4 frame format.
"""

from lz4 import frame  # type: ignore[import-untyped]  # the package has no types

from barnabas.records.batch import Buffer
from barnabas.records.errors import CorruptRecordsError


def compress(data: Buffer) -> bytes:
    """One frame with Kafka's header `04224d18 60 40 82`: independent blocks, no size, no checksums."""
    compressed: bytes = frame.compress(data, block_size=frame.BLOCKSIZE_MAX64KB, block_linked=False, store_size=False)
    return compressed


# differs from Kafka (lz4-linked-blocks): Java refuses to read them.
def decompress(data: Buffer, max_bytes: int) -> bytes:
    """The first frame; what follows it is ignored, as Java does. Linked blocks are read as well.

    Raises:
        CorruptRecordsError: The data is damaged or cut short, or larger than `max_bytes` when unpacked.
    """
    decompressor = frame.LZ4FrameDecompressor()
    try:
        output: bytes = decompressor.decompress(data, max_bytes + 1)
    except (RuntimeError, ValueError, EOFError) as error:
        raise CorruptRecordsError(f"lz4: {error}") from None
    if len(output) > max_bytes:
        raise CorruptRecordsError(f"lz4: more than {max_bytes} bytes")
    if not decompressor.eof:
        raise CorruptRecordsError("lz4: cut short")
    return output
