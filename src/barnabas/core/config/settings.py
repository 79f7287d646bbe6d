"""One setting: its type, its bounds, and the conversion between text and value.

| type | text | value |
| --- | --- | --- |
| boolean | true, false (any case) | bool |
| short, int, long | decimal, within 16, 32, 64 bits | int |
| double | decimal or scientific | float |
| list | items separated by commas | list[str] |
| string, class, password | unchanged | str |

White space around a value is ignored. The reasons in errors are Kafka's texts, as its clients show them.

Source: Apache Kafka 2.7 documentation, broker and topic configs; schemas/configs.json.
"""

import re
from typing import NamedTuple

from barnabas.core.config.tables import BROKER, BROKER_DYNAMIC_ONLY, TOPIC, Row
from barnabas.core.errors import ConfigError, ConfigValueError

Value = str | int | float | bool | list[str] | None

_INTEGER_BITS = {"short": 16, "int": 32, "long": 64}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_THROTTLED_REPLICAS = re.compile(r"([0-9]+:[0-9]+)?")
THROTTLED_REPLICAS = ("throttled-replicas",)


class Setting(NamedTuple):
    """The definition of one setting.

    Attributes:
        extra: How it may be updated (`read-only`, `per-broker`, `cluster-wide`); for a topic's setting the name of
            the broker's setting that it falls back to.
    """

    name: str
    type: str
    default: str | int | float | bool | None
    least: float | None
    greatest: float | None
    choices: tuple[str, ...] | None
    importance: str
    extra: str

    @property
    def is_sensitive(self) -> bool:
        """Return whether the value is secret."""
        return self.type == "password"

    @property
    def default_value(self) -> Value:
        """Return the default as `parse` would return it; a fresh list for a list."""
        return split_list(str(self.default)) if self.type == "list" and self.default is not None else self.default


def _by_name(rows: tuple[Row, ...]) -> dict[str, Setting]:
    return {row[0]: Setting(*row) for row in rows}


BROKER_SETTINGS: dict[str, Setting] = _by_name(BROKER)
BROKER_DYNAMIC_ONLY_SETTINGS: dict[str, Setting] = _by_name(BROKER_DYNAMIC_ONLY)
TOPIC_SETTINGS: dict[str, Setting] = _by_name(TOPIC)
AUTHORIZER_SETTINGS: dict[str, Setting] = _by_name(
    (
        ("super.users", "string", "", None, None, None, "medium", "read-only"),
        ("allow.everyone.if.no.acl.found", "boolean", False, None, None, None, "medium", "read-only"),
    )
)
"""Settings that Kafka's authorizer reads from the file in addition to the declared ones; they are never described."""


LISTENER_PREFIX = "listener.name."
_OF_A_LISTENER = re.compile(r"listener\.name\.[^.]*\.(.*)")
# Settings that may be set for one SASL mechanism of a listener, with its name as prefix.
_OF_A_MECHANISM = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)


def name_for_any(name: str) -> str:
    """Return a setting's name without the prefix of a listener (and mechanism)."""
    match = _OF_A_LISTENER.fullmatch(name)
    if match is None:
        return name
    return next((each for each in _OF_A_MECHANISM if match[1].endswith(each)), match[1])


def find_broker_setting(name: str) -> Setting | None:
    """Return a broker setting, also with a listener's prefix, and also one that cannot be set in a file."""
    name = name_for_any(name)
    return BROKER_SETTINGS.get(name) or BROKER_DYNAMIC_ONLY_SETTINGS.get(name)


OWN_PREFIX = "barnabas."


def find_file_setting(name: str) -> Setting | None:
    """Return a setting of a broker's file, also with a listener's prefix; None: it is unknown."""
    return BROKER_SETTINGS.get(name_for_any(name)) or AUTHORIZER_SETTINGS.get(name)


def hint(name: str) -> str:
    """Return a hint at the known setting nearest to an unknown one; empty if no setting is near."""
    if name in BROKER_DYNAMIC_ONLY_SETTINGS:
        return "; it can only be set while the broker runs (barnabas configs)"
    of_topics = TOPIC_SETTINGS.get(name)
    if of_topics is not None and of_topics.extra in BROKER_SETTINGS:
        return f"; did you mean {of_topics.extra}?"
    from difflib import get_close_matches  # imported late: start-up does not need it

    prefix = name[: len(name) - len(name_for_any(name))]
    near = get_close_matches(name_for_any(name), (*BROKER_SETTINGS, *AUTHORIZER_SETTINGS), n=1, cutoff=0.8)
    return f"; did you mean {prefix}{near[0]}?" if near else ""


def attribute_name(name: str) -> str:
    """Return the Python attribute of a setting: dots become underscores."""
    return name.replace(".", "_").lower()


def split_list(text: str) -> list[str]:
    """Return the items of a list setting."""
    text = text.strip()
    return [item.strip() for item in text.split(",")] if text else []


def split_without_empty(text: str) -> list[str]:
    """Return the items of directories, listeners or pairs. Kafka ignores empty items there: `a,` is one item."""
    return [item for item in split_list(text) if item]


def parse(setting: Setting, text: str) -> Value:
    """Convert a setting's text to its value, or raise the reason why it is invalid.

    Raises:
        ConfigError: The type is wrong, or the value is out of bounds; the message is the reason alone, without the
            setting's name.
    """
    text = text.strip()
    if setting.type == "boolean":
        return _parse_boolean(text)
    if setting.type in _INTEGER_BITS or setting.type == "double":
        return _parse_number(setting, text)
    if setting.type == "list":
        return _parse_list(setting, text)
    if setting.choices is not None and not _is_choice(setting.choices, text):
        if _are_versions(setting.choices):
            raise ConfigError(f"Version `{text}` is not a valid version")
        raise ConfigError(f"String must be one of: {', '.join(setting.choices)}")
    return text


def parse_named(name: str, setting: Setting, text: str) -> Value:
    """Like `parse`, with a complete error in Kafka's words. Raises ConfigValueError."""
    try:
        return parse(setting, text)
    except ConfigError as error:
        shown = error.shown if isinstance(error, ConfigValueError) else None
        raise ConfigValueError(
            f"Invalid value {text if shown is None else shown} for configuration {name}: {error}"
        ) from None


def _parse_boolean(text: str) -> bool:
    match text.lower():
        case "true":
            return True
        case "false":
            return False
    raise ConfigError("Expected value to be either true or false")


def _parse_number(setting: Setting, text: str) -> int | float:
    value: int | float
    if setting.type == "double":
        try:
            value = float(text)
        except ValueError:
            raise ConfigError("Not a number of type DOUBLE") from None
    else:
        limit = 1 << (_INTEGER_BITS[setting.type] - 1)
        # Check the length first: parsing a million digits takes seconds.
        if len(text) > 40 or not _INTEGER.fullmatch(text) or not -limit <= (value := int(text)) < limit:
            raise ConfigError(f"Not a number of type {setting.type.upper()}")
    if setting.least is not None and not value >= setting.least:
        raise ConfigError(f"Value must be at least {setting.least}")
    if setting.greatest is not None and not value <= setting.greatest:
        raise ConfigError(f"Value must be no more than {setting.greatest}")
    return value


def _parse_list(setting: Setting, text: str) -> list[str]:
    items = split_list(text)
    if setting.choices == THROTTLED_REPLICAS:
        if items[:1] != ["*"] and not all(_THROTTLED_REPLICAS.fullmatch(item) for item in items):
            raise ConfigValueError(
                f"{setting.name} must be the literal '*' or a list of replicas in the following format: "
                "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
                f"[{', '.join(items)}]",
            )
    elif setting.choices is not None:
        for item in items:
            if item not in setting.choices:
                raise ConfigValueError(f"String must be one of: {', '.join(setting.choices)}", item)
    return items


def _are_versions(choices: tuple[str, ...]) -> bool:
    return choices[0] == "0.8.0"


def _is_choice(choices: tuple[str, ...], text: str) -> bool:
    if text in choices:
        return True
    # A protocol version may be shortened or have a patch number: 2.7, 2.7.2, 0.10.1.
    if not _are_versions(choices):
        return False
    segments = text.split(".")
    release = ".".join(segments[: 3 if text.startswith("0.") else 2])
    return any(choice == release or choice.startswith(f"{release}-") for choice in choices)


def allowed(setting: Setting) -> str:
    """Return a readable description of a setting's allowed values."""
    if setting.choices is not None and _are_versions(setting.choices):
        return f"a version from {setting.choices[0]} to {setting.choices[-1]}"
    if setting.choices is not None and setting.choices != THROTTLED_REPLICAS:
        return ("a list of " if setting.type == "list" else "one of ") + ", ".join(setting.choices)
    match setting.type:
        case "boolean":
            return "true or false"
        case "double":
            kind, least, greatest = "a number", setting.least, setting.greatest
        case "short" | "int" | "long":
            limit = 1 << (_INTEGER_BITS[setting.type] - 1)
            kind = "a whole number"
            least = -limit if setting.least is None else setting.least
            greatest = limit - 1 if setting.greatest is None else setting.greatest
        case _:
            return "text"
    if least is None:
        return kind
    return f"{kind} from {least}" + (f" to {greatest}" if greatest is not None else "")


def format_value(value: Value) -> str | None:
    """Return a value in the form that Kafka uses in responses and znodes."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case float():
            return _java_double(value)
        case list():
            return ",".join(value)
    return str(value)


def _java_double(value: float) -> str:
    """Return a number in Java's notation: `0.5`, `1.0E9`, `1.7976931348623157E308`."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    mantissa, exponent = f"{value:e}".split("e")
    digits = repr(value).split("e")[0] if "e" in repr(value) else repr(value / 10 ** int(exponent))
    mantissa = digits if "." in digits else f"{digits}.0"
    return f"{mantissa}E{int(exponent)}"
