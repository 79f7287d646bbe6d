"""Runs of fields of fixed size, and the precompiled structs that pack them."""

import struct

_LETTERS = {"?": "t"}


class Run:
    """Neighbouring fields of fixed size, with the expressions or names they are packed from or unpacked to."""

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
        """Bytes on the wire."""
        return struct.calcsize(">" + "".join(self.codes))


class Layouts:
    """The precompiled structs of one module, by format."""

    def __init__(self) -> None:
        self._lines: dict[str, str] = {}

    def unpack(self, codes: list[str]) -> str:
        """The name of the unpack function of a format."""
        return self._name("unpack", "unpack_from", codes)

    def pack(self, codes: list[str]) -> str:
        """The name of the pack function of a format."""
        return self._name("pack", "pack", codes)

    def lines(self) -> list[str]:
        """The module's definitions, in the order of names."""
        return [self._lines[name] for name in sorted(self._lines)]

    def _name(self, verb: str, method: str, codes: list[str]) -> str:
        letters = "".join(_LETTERS.get(code, code) for code in codes)
        name = f"_{verb}_{letters}"
        # Final: compiled, a constant is not looked up by its name.
        self._lines[name] = f'{name}: Final = Struct(">{"".join(codes)}").{method}'
        return name
