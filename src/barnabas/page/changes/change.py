"""Changes: their form, and the preview of their effect.

A `Plan` is computed from the values of a form and the cluster's state. The page shows the plan: each row before and
after, and the equivalent command. Only then is it executed, exactly as shown.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.core.errors import BarnabasError
from barnabas.page.view import Asked


class Field(NamedTuple):
    """A field of a form.

    Attributes:
        name: Also the name of the query parameter that fills in the field.
        help: The format.
        choices: The choices, the default first; empty: free text.
        is_optional: Whether it may be empty.
        value: The initial value.
        is_secret: Whether the value is hidden, while it is typed and afterwards.
    """

    name: str
    label: str
    help: str = ""
    choices: tuple[str, ...] = ()
    is_optional: bool = False
    value: str = ""
    is_secret: bool = False


class Row(NamedTuple):
    """One changed value."""

    what: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A previewed change.

    Attributes:
        rows: The values before and after.
        command: The equivalent command, without the cluster's address; it contains no secrets.
        carry_out: Executes it; returns the result as a sentence. Raises BarnabasError.
        notes: Further notes.
        loses: A warning about a loss; empty: nothing is lost.
        name: The text to type if something is lost.
    """

    rows: tuple[Row, ...]
    command: str
    carry_out: Callable[[], Awaitable[str]]
    notes: tuple[str, ...] = ()
    loses: str = ""
    name: str = ""


class Change(NamedTuple):
    """A kind of change.

    Attributes:
        path: Relative to the cluster's path.
        title: The action: "Create a topic".
        fields: The fields of its form.
        preview: Computes the plan; changes nothing. Raises BarnabasError: it is impossible.
        menu: Its menu entry.
    """

    path: str
    title: str
    fields: tuple[Field, ...]
    preview: Callable[[Asked], Awaitable[Plan]]
    menu: str = "/changes"


def text(asked: Asked, name: str) -> str:
    """Return a value without surrounding blanks; "" if it is missing."""
    return asked.query.get(name, "").strip()


def needed(asked: Asked, field: Field) -> str:
    """Return a required value. Raises BarnabasError."""
    value = text(asked, field.name)
    if not value:
        raise BarnabasError(f"{field.label}: a value is required")
    return value


def number(asked: Asked, field: Field, least: int = 1) -> int | None:
    """Return a whole number; None if it is missing. Raises BarnabasError."""
    value = text(asked, field.name)
    if not value:
        return None
    digits = value.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 20) or int(value) < least:
        raise BarnabasError(f"{field.label}: {value[:40]} must be a whole number of at least {least}")
    return int(value)


def needed_number(asked: Asked, field: Field, least: int = 0) -> int:
    """Return a required whole number. Raises BarnabasError."""
    needed(asked, field)
    return number(asked, field, least) or 0


def choice(asked: Asked, field: Field) -> str:
    """Return the selected choice. Raises BarnabasError: the value is not a choice."""
    value = text(asked, field.name) or field.choices[0]
    if value not in field.choices:
        raise BarnabasError(f"{field.label}: must be one of {', '.join(field.choices)}")
    return value


def pattern(topic: str) -> str:
    """Return a topic's name in the form of commands that accept patterns, with dots escaped."""
    return topic.replace(".", r"\.")
