"""The messages between a broker and the test kit that started it, over a byte stream of their own.

| bytes | what                                        |
| ----- | ------------------------------------------- |
| 4     | n, the size of the fields, big-endian       |
| 4     | m, the size of the body                     |
| n     | the fields: an object in JSON               |
| m     | the body: a request or an answer, as on the wire, without its header |

| from   | `op`     | other fields                                              | body                   |
| ------ | -------- | --------------------------------------------------------- | ---------------------- |
| kit    | watch    | id; api_keys: the APIs to intercept from now on           |                        |
| kit    | stalls   | id                                                        |                        |
| broker | stalls   | id; stalls: the fields of the watchdog's `Stalls` since the last request | |
| broker | watching | id; not_served: the keys without a handler                |                        |
| broker | request  | id, api_key, api_version, client_id                       | the request            |
| kit    | verdict  | id; verdict: the fields of `Verdict`; is_changed: whether there is a body | what to handle |
| broker | answer   | id; sent only if the verdict's `shows_answer` is true     | the answer             |
| kit    | answer   | id                                                        | the answer to be sent  |

Both sides have the same version and trust each other: an invalid message is a bug, and raises an exception.
"""

import json
from collections.abc import Iterator
from struct import Struct
from typing import Any, NamedTuple, TypeAlias

Fields: TypeAlias = dict[str, Any]

_SIZES = Struct(">II")


class Verdict(NamedTuple):
    """The test kit's decision about a request.

    Attributes:
        error_code: Refuse it with this code; 0: do not refuse it.
        drops: Close its connection instead of answering.
        ignores: Never answer it.
        handles_first: Handle it before any of these, and discard the answer.
        delay_ms: The delay of its answer.
        shows_answer: Let the kit replace the answer.
    """

    error_code: int = 0
    drops: bool = False
    ignores: bool = False
    handles_first: bool = False
    delay_ms: float = 0.0
    shows_answer: bool = False


def encode(fields: Fields, body: bytes | bytearray = b"") -> bytes:
    """Encode one message."""
    text = json.dumps(fields).encode()
    return _SIZES.pack(len(text), len(body)) + text + body


class Splitter:
    """Splits a byte stream into messages."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[Fields, bytearray]]:
        """Add bytes; return the fields and bodies of the messages that are complete now."""
        self._data += data
        while len(self._data) >= _SIZES.size:
            fields_size, body_size = _SIZES.unpack_from(self._data)
            body_start = _SIZES.size + fields_size
            end = body_start + body_size
            if len(self._data) < end:
                return
            fields = json.loads(self._data[_SIZES.size : body_start])
            body = self._data[body_start:end]
            del self._data[:end]
            yield fields, body
