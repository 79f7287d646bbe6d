"""Makes a program's objects of the bytes of keys and messages, when they are asked for.

Source: design document of 0.8, Decoder.
"""

from typing import Protocol, TypeVar

T_co = TypeVar("T_co", covariant=True)


class Decoder(Protocol[T_co]):
    """Called in the thread that reads the stream."""

    def from_bytes(self, data: bytes) -> T_co:
        """The object of these bytes; null keys and messages are None without asking."""
        ...


class DefaultDecoder:
    """Passes bytes as they are."""

    def from_bytes(self, data: bytes) -> bytes:
        return data


class StringDecoder:
    """Decodes text, in UTF-8 unless another encoding is named."""

    def __init__(self, encoding: str = "utf-8") -> None:
        self._encoding = encoding

    def from_bytes(self, data: bytes) -> str:
        return data.decode(self._encoding)
