"""The buffer to which encoders write.

It is a module of its own because `wire.py` and the messages are compiled: a compiled class can't be a `bytearray`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr as mypyc_attr
else:

    def mypyc_attr(**_):
        """Give the compiler a hint; does nothing at run time."""
        return lambda found: found


class Region(Protocol):
    """Bytes of a file that belong in an encoded message without passing through memory."""

    @property
    def fd(self) -> int: ...

    @property
    def position(self) -> int: ...

    @property
    def length(self) -> int: ...


Records: TypeAlias = bytes | bytearray | memoryview | Region


class WireBuffer(bytearray):
    """The buffer to which encoders write.

    Attributes:
        regions: Where file regions belong: (position in this buffer, region), ascending. Their length prefixes are in
            the buffer, their bytes are not.
    """

    # hot path: benchmarks/load (every answer). The own empty one of the class until there is a region; most have none,
    # and making a buffer calls nothing of ours.
    regions: Sequence[tuple[int, Region]] = ()

    def add_region(self, region: Region) -> None:
        """Insert a file region after the bytes written so far."""
        if not self.regions:
            self.regions = []
        assert isinstance(self.regions, list)
        self.regions.append((len(self), region))

    def total_bytes(self) -> int:
        """Return the size of the whole on the wire: the buffer and its regions."""
        total = len(self)
        for _, region in self.regions:
            total += region.length
        return total
