"""The file that stores a broker's traffic history across a restart. Pure.

    field            type           meaning
    magic            4 bytes        "BQH1"
    CRC              uint32, big    CRC-32 of everything after it
    body             zlib           compressed; contains:
    header size      uint32, big    in bytes
    header           JSON           {"byteorder", "second", "rings": [[user, client id, kind], ...]}
    rings            3,600 uint32   one after the other, in the header's byte order, the oldest second first

`second` is the last second, since the epoch. User and client id of the shared ring are null. The file is in the first
of `log.dirs`, where Kafka and Barnabas ignore unknown files. An unreadable file is ignored and replaced at the next
write: only history is lost.
"""

import json
import struct
import sys
import zlib
from array import array
from collections.abc import Iterable
from struct import Struct
from typing import Final

from barnabas.broker.quotas.history import SECOND_COUNT, Name, Recorded
from barnabas.wire.quotas.limits import QuotaKind

NAME: Final = "quota-history"
_MAGIC: Final = b"BQH1"
_UINT32: Final = Struct(">I")
_RING_BYTES: Final = 4 * SECOND_COUNT
# More than any history needs: a file that unpacks to more is invalid.
_MOST_BYTES: Final = 64 * 1024 * 1024


def encode(second: int, recorded: Iterable[Recorded]) -> bytes:
    """Return the file's content. Takes some hundred milliseconds for the largest history."""
    rings = list(recorded)
    header = json.dumps(
        {
            "byteorder": sys.byteorder,
            "second": second,
            "rings": [[*(each.client or (None, None)), int(each.kind)] for each in rings],
        }
    ).encode()
    body = zlib.compress(b"".join([_UINT32.pack(len(header)), header, *(each.values.tobytes() for each in rings)]), 1)
    return _MAGIC + _UINT32.pack(zlib.crc32(body)) + body


def decode(data: bytes) -> tuple[int, list[Recorded]]:
    """Return the last second and the rings.

    Raises:
        ValueError: The file is not a history or is damaged; the text is the reason.
    """
    body = memoryview(data)[8:]
    if data[:4] != _MAGIC or len(data) < 8:
        raise ValueError("it does not begin as one")
    if _UINT32.unpack_from(data, 4)[0] != zlib.crc32(body):
        raise ValueError("its checksum is wrong")
    try:
        unpacker = zlib.decompressobj()
        content = unpacker.decompress(body, _MOST_BYTES)
        (size,) = _UINT32.unpack_from(content)
        header = json.loads(content[4 : 4 + size])
        return _read(header, memoryview(content)[4 + size :])
    except (zlib.error, struct.error, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"it can't be understood ({error})") from None


def _read(header: dict[str, object], rest: memoryview) -> tuple[int, list[Recorded]]:
    second, names = header["second"], header["rings"]
    if header["byteorder"] != sys.byteorder:
        raise ValueError("another kind of machine wrote it")
    if not isinstance(second, int) or second < 0 or not isinstance(names, list):
        raise ValueError("its header is none")
    if len(rest) != len(names) * _RING_BYTES:
        raise ValueError(f"{len(names)} rings are not {len(rest)} bytes")
    recorded = []
    for index, (user, client_id, kind) in enumerate(names):
        client = None
        if user is not None or client_id is not None:
            if not isinstance(user, str) or not isinstance(client_id, str):
                raise ValueError("a client's name is none")
            client = Name(user, client_id)
        values = array("I")
        values.frombytes(rest[index * _RING_BYTES : (index + 1) * _RING_BYTES])
        recorded.append(Recorded(client, QuotaKind(kind), values))
    return second, recorded
