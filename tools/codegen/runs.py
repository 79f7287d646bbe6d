"""Runs of fields of fixed size, and the precompiled structs that pack them."""

import struct

_LETTERS = {"?": "t"}


class Run:
    """Adjacent fields of fixed size, with the expressions to pack or the names to unpack to."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.codes: list[str] = []

    def add(self, name: str, code: str) -> None:
        """Append a field of a `struct` format."""
        self.names.append(name)
        self.codes.append(code)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def size(self) -> int:
        """Return the size on the wire, in bytes."""
        return struct.calcsize(">" + "".join(self.codes))


class Layouts:
    """The precompiled structs of one module, by format."""

    def __init__(self) -> None:
        self._lines: dict[str, str] = {}

    def unpack(self, codes: list[str]) -> str:
        """Return the name of the unpack function of a format."""
        return self._name("unpack", "unpack_from", codes)

    def pack(self, codes: list[str]) -> str:
        """Return the name of the pack function of a format."""
        return self._name("pack", "pack", codes)

    def lines(self) -> list[str]:
        """Return the module's definitions, in order of name."""
        return [self._lines[name] for name in sorted(self._lines)]

    def _name(self, verb: str, method: str, codes: list[str]) -> str:
        letters = "".join(_LETTERS.get(code, code) for code in codes)
        name = f"_{verb}_{letters}"
        # Final: compiled code does not look a constant up by name.
        self._lines[name] = f'{name}: Final = Struct(">{"".join(codes)}").{method}'
        return name
