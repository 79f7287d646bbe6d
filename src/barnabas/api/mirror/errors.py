"""What ends a mirror."""

from barnabas.core.errors import BarnabasError


class MirrorError(BarnabasError):
    """The mirror can't go on: one line that says why and, where that is known, what to do."""
