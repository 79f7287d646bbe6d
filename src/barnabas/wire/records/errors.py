"""What goes wrong with record data.

By itself also because an error is never compiled: mypyc would give it room for weak references, as it inherits from an
interpreted class, and not clear them when it goes.
"""

from barnabas.core.errors import BarnabasError


class CorruptRecordsError(BarnabasError):
    """Bytes that are no record batch, or none that this broker is ready to unpack."""


class TooLargeUnpackedError(CorruptRecordsError):
    """A batch that unpacks, or is converted, to more than was allowed; it may be good."""


class CorruptMessageError(CorruptRecordsError):
    """What Kafka answers with CORRUPT_MESSAGE also inside a wrapper: a wrong CRC or an impossible size."""


class UnsupportedCodecError(BarnabasError):
    """A batch whose codec the older format does not have: zstd."""
