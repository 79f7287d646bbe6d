"""Kafka client properties of `produce` and `consume`.

A later source wins: the file, then `--producer-property` or `--consumer-property`, then the command's own option. As
in Kafka an unknown property is not an error; one line names all properties that have no effect.

Source: Kafka 2.7, ConsoleConsumer and ConsoleProducer; producer and consumer configs.
"""

from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

from barnabas.cli.connection import file_security
from barnabas.cli.options import parse_pairs
from barnabas.cli.output import note
from barnabas.clients.security import ClientSecurity, trimmed
from barnabas.core.errors import BarnabasError

T = TypeVar("T")

_MOST: Final = 2**31 - 1


class ClientProperties:
    """Client properties by Kafka's names. A method that reads one removes it; `note_unused` names the rest."""

    def __init__(self, path: str | None, texts: Sequence[str], option: str) -> None:
        """Args:
        path: The properties file, if any.
        texts: The values of `option`.
        option: The option's name, for errors.

        Raises:
            ConfigError: The file cannot be read.
            BarnabasError: A text is not NAME=VALUE.
        """
        self._values: dict[str, str] = {}
        self._origins: dict[str, str] = {}
        self._path = path
        if path is not None:
            from barnabas.core.config.properties import read_properties

            values, lines = read_properties(path)
            self._values |= values
            self._origins |= {name: f"{path}:{line}: {name}" for name, line in lines.items()}
        given = parse_pairs(texts, option)
        self._values = trimmed(self._values | given)
        self._origins |= {name: f"{option} {name}" for name in given}
        self._option = option
        self._known: list[str] = []

    def security(self) -> ClientSecurity | None:
        """Return the connection's security; None for plaintext. Raises ConfigError."""
        return file_security(self._path or self._option, self._values)

    def text(self, name: str, default: T) -> str | T:
        """Return a property's text."""
        self._known.append(name)
        value = self._values.pop(name, None)
        return default if value is None else value

    def number(self, name: str, given: int | None, default: int, least: int = 0) -> int:
        """Return a number: the value of the command's own option, else of the property, else the default.

        Raises:
            BarnabasError: The property is not a whole number from `least` to 2147483647.
        """
        text = self.text(name, None)
        if given is not None or text is None:
            return default if given is None else given
        digits = text.removeprefix("-")
        if not digits.isascii() or not digits.isdecimal() or not least <= int(text[:11]) <= _MOST:
            raise BarnabasError(f"{self._origins[name]}={text}: must be a number from {least} to {_MOST}")
        return int(text)

    def choice(self, name: str, given: tuple[str, str | None], default: str, choices: Mapping[str, T]) -> T:
        """Return the choice for a word: of the command's own option, else of the property, else the default.

        Args:
            given: The option's name, and its value if given.

        Raises:
            BarnabasError: The word is not one of `choices`.
        """
        text = self.text(name, None)
        origin, word = given[0] + " ", given[1]
        if word is None:
            origin, word = f"{self._origins.get(name, name)}=", default if text is None else text
        if word.lower() not in choices:
            raise BarnabasError(f"{origin}{word}: must be one of {', '.join(choices)}")
        return choices[word.lower()]

    def flag(self, name: str, default: bool) -> bool:
        """Return whether a property is true. Raises BarnabasError if it is neither true nor false."""
        return self.choice(name, ("", None), str(default).lower(), {"true": True, "false": False})

    def note_unused(self) -> None:
        """Warn in one line of properties without effect, each with a similar known name."""
        if not self._values:
            return
        from barnabas.core.command_line import did_you_mean

        names = [f"{name}{did_you_mean(name, self._known).rstrip('?')}" for name in self._values]
        note(f"Warning: these client properties have no effect here: {', '.join(names)}")
