"""The documented settings of a client API: their declarations, and the conversion of a program's mapping to values.

Each API has one table. A setting has one name, the newest documented one (0.8.2), and its earlier names (0.7) as
aliases:

    TABLE = SettingsTable("producer", (
        Declared("queue.buffering.max.ms", "int", 5_000, "How long a message waits, in ms.", ("queue.time",), least=0),
    ))
    TABLE.read({"queue.time": 200}).integer("queue.buffering.max.ms")    # 200

Invariants:

- Unknown names are rejected, and so are documented settings that are not supported.
- If both names of a setting are given, the values must be equal.
- Errors contain values only of settings that cannot be secret: logins and key stores are checked by
  `barnabas.clients.security`.

Source: configuration documents of 0.7 and 0.8.2; legacy-0.7.md.
"""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Final, NamedTuple

from barnabas.clients.zookeeper.settings import ZOOKEEPER_SETTINGS
from barnabas.core.config.settings import Setting, Value, allowed, parse
from barnabas.core.errors import ConfigError
from barnabas.wire.security.tls.settings import CLIENT_SETTINGS

SECURITY_SETTINGS: Final = (
    *("security.protocol", "sasl.mechanism", "sasl.jaas.config", *CLIENT_SETTINGS),
    *ZOOKEEPER_SETTINGS,
)
"""Security of connections to brokers and ZooKeeper, by Kafka's newer names: older versions had no security."""

_CLASS: Final = "class"


class Declared(NamedTuple):
    """One documented setting.

    Attributes:
        name: The newest documented name.
        type: boolean, short, int, long, double, list, string; class: a dotted path, or the object itself.
        default: The default; None: no default.
        description: Its effect, for the documents: a sentence or two, with the unit.
        aliases: Its earlier names.
        least, greatest: Bounds of a number, both included.
        choices: All allowed values, if it is one of several words.
        refusal: Why it is not supported, and the alternative; empty: it is supported.
    """

    name: str
    type: str
    default: str | int | float | bool | None
    description: str
    aliases: tuple[str, ...] = ()
    least: float | None = None
    greatest: float | None = None
    choices: tuple[str, ...] | None = None
    refusal: str = ""

    @property
    def setting(self) -> Setting:
        """Return the declaration as the `Setting` that the rest of the package uses."""
        kind = "string" if self.type == _CLASS else self.type
        return Setting(self.name, kind, self.default, self.least, self.greatest, self.choices, "medium", "")

    @property
    def allowed(self) -> str:
        """Return a readable description of the allowed values."""
        return "a dotted path, or an object" if self.type == _CLASS else allowed(self.setting)


@dataclass(slots=True, frozen=True)
class Settings:
    """The settings that a program gave, with defaults for the others.

    Attributes:
        given: The settings that were given, by their newest name.
        security: The given settings of `SECURITY_SETTINGS`, as text; some are secrets.
    """

    given: frozenset[str]
    security: Mapping[str, str] = field(repr=False)
    _values: Mapping[str, object] = field(repr=False)

    def integer(self, name: str) -> int:
        """Return the value of a short, int or long."""
        value = self._values[name]
        assert isinstance(value, int)
        return value

    def number(self, name: str) -> float:
        """Return the value of a double."""
        value = self._values[name]
        assert isinstance(value, float | int)
        return float(value)

    def boolean(self, name: str) -> bool:
        value = self._values[name]
        assert isinstance(value, bool)
        return value

    def text(self, name: str) -> str:
        """Return the value of a string; empty if it is not set."""
        value = self._values[name]
        assert value is None or isinstance(value, str)
        return value or ""

    def items(self, name: str) -> list[str]:
        """Return the value of a list; empty if it is not set."""
        value = self._values[name]
        assert value is None or isinstance(value, list)
        return list(value or ())

    def given_object(self, name: str) -> object:
        """Return the value of a class: a dotted path, an object, or None."""
        return self._values[name]


class SettingsTable:
    """All settings of one API."""

    __slots__ = ("_api", "_names", "settings")

    def __init__(self, api: str, settings: Iterable[Declared]) -> None:
        """Args:
        api: Its name in errors, such as `producer`.
        settings: The declared settings.

        Raises:
            ValueError: Two settings have a name in common.
        """
        self._api = api
        self.settings = tuple(settings)
        self._names: dict[str, Declared] = {}
        for declared in self.settings:
            for name in (declared.name, *declared.aliases):
                if name in self._names:
                    raise ValueError(f"{name} is declared twice")
                self._names[name] = declared

    def read(self, config: Mapping[str, object]) -> Settings:
        """Convert a program's settings to values.

        Args:
            config: By documented names, old or new; text (as in a properties file), numbers and booleans; a setting
                with None is ignored.

        Raises:
            ConfigError: A name is unknown, a value is invalid, or two names of one setting disagree.
        """
        values: dict[str, object] = {each.name: each.setting.default_value for each in self.settings}
        security: dict[str, str] = {}
        given: dict[str, str] = {}
        for name, value in config.items():
            if value is None:
                continue
            if name in SECURITY_SETTINGS:
                security[name] = _as_text(value).strip()
                continue
            declared = self._find(name)
            parsed = _parse(declared, name, value)
            before = given.setdefault(declared.name, name)
            if before != name and parsed != values[declared.name]:
                raise ConfigError(f"{before} and {name} are one setting of the {self._api}, and disagree")
            values[declared.name] = parsed
        return Settings(frozenset(given), security, values)

    def _find(self, name: str) -> Declared:
        declared = self._names.get(name)
        if declared is None:
            known = [*self._names, *SECURITY_SETTINGS]
            by_form = {_plain_form(each): each for each in known}
            nearest = by_form[difflib.get_close_matches(_plain_form(name), by_form, 1, 0)[0]]
            raise ConfigError(f"{name} is not a setting of the {self._api}: did you mean {nearest}?")
        if declared.refusal:
            raise ConfigError(f"{name} is not supported: {declared.refusal}")
        return declared


def _plain_form(name: str) -> str:
    """Return the form in which names are compared: without case and separators."""
    return name.lower().replace("-", ".").replace("_", ".")


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parse(declared: Declared, name: str, value: object) -> object:
    if declared.type == _CLASS:
        return value.strip() if isinstance(value, str) else value
    if isinstance(value, list | tuple) and declared.type == "list":
        value = ",".join(map(str, value))
    if not isinstance(value, str | int | float):
        raise ConfigError(f"{name} must be {declared.allowed}, not of type {type(value).__name__}")
    text = _as_text(value)
    try:
        parsed: Value = parse(declared.setting, text)
    except ConfigError as error:
        raise ConfigError(f"{name}={text}: {error}; it must be {declared.allowed}") from None
    return parsed


def load(name: str, value: object, known: Mapping[str, object]) -> object:
    """Load the class that a setting names.

    Args:
        name: The setting's name, for errors.
        value: An object, or a dotted path as text, `package.module.Name`.
        known: Built-in classes by their Java names, for properties files.

    Raises:
        ConfigError: The module does not exist, or does not contain the name.
    """
    if not isinstance(value, str):
        return value
    if value in known:
        return known[value]
    module_name, _, attribute = value.replace(":", ".").rpartition(".")
    try:
        if not module_name:
            raise ConfigError(f"{name}={value}: it must be a dotted path: package.module.Name")
        found: object = getattr(import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{name}={value}: {error}") from error
    return found
