"""Errors of record data.

This module is separate because an error is never compiled: mypyc would give it room for weak references, as it inherits
from an interpreted class, and not clear them when it goes.
"""

from barnabas.core.errors import BarnabasError


class CorruptRecordsError(BarnabasError):
    """The bytes are not a valid record batch, or unpack to more than this broker accepts."""


class TooLargeUnpackedError(CorruptRecordsError):
    """A batch unpacks, or is converted, to more than the limit; it may be valid."""


class CorruptMessageError(CorruptRecordsError):
    """An error that Kafka reports as CORRUPT_MESSAGE also inside a wrapper: a wrong CRC or an impossible size."""


class UnsupportedCodecError(BarnabasError):
    """The older format does not support a batch's codec, zstd."""
