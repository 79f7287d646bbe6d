"""Helpers for long computations in a thread, so that the event loop gets the interpreter in time.

The interpreter switches threads between the instructions of Python functions, never inside a call into C: a copy of 128
MiB is one such call, and so is everything that a compiled walk does. This module is not compiled.

Source: docs/adr/0004; CPython, `sys.setswitchinterval`.
"""

from io import BytesIO

from barnabas.wire.records.batch import Buffer

WALK_RECORDS = 1 << 15
"""After so many records a walk offers a turn: a millisecond where it is compiled."""

PIECE_BYTES = 1 << 20
"""Larger data is copied in pieces of this size."""


def yield_gil() -> None:
    """Let another thread run if one waits: the interpreter checks whenever a Python function begins."""


def extend(buffer: bytearray, data: Buffer) -> None:
    """Append all data to a buffer, piece by piece."""
    if len(data) <= PIECE_BYTES:
        buffer += data
        return
    view = memoryview(data)
    for start in range(0, len(view), PIECE_BYTES):
        buffer += view[start : start + PIECE_BYTES]


def copied(data: Buffer) -> bytes:
    """Return a copy of the data, made piece by piece."""
    if len(data) <= PIECE_BYTES:
        return bytes(data)
    view = memoryview(data)
    out = BytesIO()
    for start in range(0, len(view), PIECE_BYTES):
        out.write(view[start : start + PIECE_BYTES])
    # Not a copy: its own buffer is returned.
    return out.getvalue()


def joined(parts: list[bytes]) -> bytes:
    """Join the parts, one by one; each is released after its copy, so the list is empty afterwards."""
    if len(parts) <= 1:
        return parts.pop() if parts else b""
    out = BytesIO()
    parts.reverse()
    while parts:
        out.write(parts.pop())
    return out.getvalue()
