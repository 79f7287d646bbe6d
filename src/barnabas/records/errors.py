"""What goes wrong with record data."""

from barnabas.core.errors import BarnabasError


class CorruptRecordsError(BarnabasError):
    """Bytes that are no record batch, or none that this broker is ready to unpack."""
