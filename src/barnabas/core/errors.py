"""The exceptions of the package.

An error of one partition or group is data (an `ErrorCode` in the response). An exception means that a connection must
close, a disk failed, a configuration is invalid, or there is a bug.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.core.error_code import ErrorCode

if TYPE_CHECKING:
    from pathlib import Path


class BarnabasError(Exception):
    """Any error that the package raises on purpose."""


class ProtocolError(BarnabasError):
    """Bytes from a peer are not a valid request, response or record: the connection closes."""


class EncodeError(BarnabasError):
    """A message cannot be encoded in its version: a bug of the sender, or a text that is too long."""


class UnanswerableError(BarnabasError):
    """A request failed for which the protocol has no error response: the connection must close."""


class StorageError(BarnabasError):
    """The disk failed: the log directory goes offline.

    Attributes:
        path: The file or directory that cannot be used; None: unknown.
    """

    def __init__(self, message: str, path: "Path | None" = None) -> None:
        super().__init__(message)
        self.path = path


class ConfigError(BarnabasError):
    """A setting or option is invalid: one line that names it and the remedy."""


class InvalidSettingsError(ConfigError):
    """Several settings are invalid.

    Attributes:
        problems: One line for each.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


class ConfigValueError(ConfigError):
    """A value is invalid for an existing setting.

    Attributes:
        shown: The part of the value that is invalid, if not the whole text.
    """

    def __init__(self, message: str, shown: str | None = None) -> None:
        super().__init__(message)
        self.shown = shown


class StartupError(BarnabasError):
    """The broker cannot start: one line with the reason and the remedy."""


class KafkaError(BarnabasError):
    """An error code of the protocol, raised to callers that wait for a value (clients, controller).

    Attributes:
        code: The protocol's code.
        message: The readable message; by default the code's name, and empty if Kafka's clients get only the code
            (None was given).
    """

    def __init__(self, code: ErrorCode, message: str | None = "") -> None:
        super().__init__(f"{code.name}: {message}" if message else code.name)
        self.code = code
        self.message = "" if message is None else message or code.name
