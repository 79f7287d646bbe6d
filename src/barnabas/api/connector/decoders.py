"""Decoders: convert the bytes of keys and messages to objects when a program reads them.

Source: design document of 0.8, Decoder.
"""

from typing import Protocol, TypeVar

T_co = TypeVar("T_co", covariant=True)


class Decoder(Protocol[T_co]):
    """Converts bytes to objects, in the thread that reads the stream."""

    def from_bytes(self, data: bytes) -> T_co:
        """Return the object for these bytes. Null keys and messages become None without a call."""
        ...


class DefaultDecoder:
    """Returns bytes unchanged."""

    def from_bytes(self, data: bytes) -> bytes:
        return data


class StringDecoder:
    """Decodes text, in UTF-8 unless another encoding is named."""

    def __init__(self, encoding: str = "utf-8") -> None:
        self._encoding = encoding

    def from_bytes(self, data: bytes) -> str:
        return data.decode(self._encoding)
