"""The exceptions of the package.

An error that belongs to one partition or group is data (an `ErrorCode` in the answer). An exception means that a
connection must close, that a disk failed, that a configuration is impossible, or that there is a bug.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.core.error_code import ErrorCode

if TYPE_CHECKING:
    from pathlib import Path


class BarnabasError(Exception):
    """Whatever the package raises on purpose."""


class ProtocolError(BarnabasError):
    """Bytes from the other side that are no valid request, answer or record: the connection closes."""


class EncodeError(BarnabasError):
    """A message that cannot be encoded in its version: a bug of the sender, or a text that is too long."""


class UnanswerableError(BarnabasError):
    """A request failed for which the protocol has no answer: closing the connection is the only way to tell."""


class StorageError(BarnabasError):
    """The disk failed: the log directory goes offline.

    Attributes:
        path: The file or directory that can't be used; None where it is not known.
    """

    def __init__(self, message: str, path: "Path | None" = None) -> None:
        super().__init__(message)
        self.path = path


class ConfigError(BarnabasError):
    """An invalid setting or option: one line that names it and says what to do."""


class InvalidSettingsError(ConfigError):
    """Several invalid settings.

    Attributes:
        problems: One line for each.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


class ConfigValueError(ConfigError):
    """A value that a setting cannot have, where the setting itself may be there.

    Attributes:
        shown: What of the value it is about, where that is not the text itself.
    """

    def __init__(self, message: str, shown: str | None = None) -> None:
        super().__init__(message)
        self.shown = shown


class StartupError(BarnabasError):
    """The broker cannot start: one line that says why and what to do."""


class KafkaError(BarnabasError):
    """An error code of the protocol, raised where a caller waits for a value (clients, controller).

    Attributes:
        code: The protocol's code.
        message: What a person should read; the code's name when nothing better is known, and empty where Kafka's
            clients are told the code alone (None was given).
    """

    def __init__(self, code: ErrorCode, message: str | None = "") -> None:
        super().__init__(f"{code.name}: {message}" if message else code.name)
        self.code = code
        self.message = "" if message is None else message or code.name
