"""Reads schemas/messages/*.json into objects.

One file describes one message in all versions of Kafka 2.7; the notation is Kafka's. A struct is nested in the field
that uses it. If a later Kafka renamed a field, the schema has the later name, and 2.7's name as `formerName`.

Source: protocol guide, "The messages"; KIP-482 for tagged fields and flexible versions.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

UNBOUNDED = 32767


@dataclass(frozen=True, slots=True)
class Versions:
    """A closed range of versions; empty if `high` is below `low`."""

    low: int
    high: int

    @staticmethod
    def parse(text: str | None) -> "Versions":
        """Read `3+`, `1-4`, `2` or `none`."""
        if text is None or text == "none":
            return Versions(0, -1)
        if text.endswith("+"):
            return Versions(int(text[:-1]), UNBOUNDED)
        low, _, high = text.partition("-")
        return Versions(int(low), int(high or low))

    def __contains__(self, version: int) -> bool:
        return self.low <= version <= self.high

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.low, self.high + 1))

    def __bool__(self) -> bool:
        return self.low <= self.high

    def __str__(self) -> str:
        if not self:
            return "none"
        if self.high == UNBOUNDED:
            return f"{self.low}+"
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"


@dataclass(slots=True)
class Struct:
    """A named list of fields; becomes one Python class."""

    schema_name: str
    class_name: str
    fields: list["Field"]
    owner: str
    is_message: bool = False


@dataclass(slots=True)
class Field:
    """One field of a struct, in all versions."""

    name: str
    schema_name: str
    type_name: str
    is_array: bool
    struct: Struct | None
    versions: Versions
    nullable: Versions
    tagged: Versions
    tag: int
    default: str | None
    ignorable: bool
    never_flexible: bool

    @property
    def is_ever_nullable(self) -> bool:
        return bool(self.nullable)


@dataclass(slots=True)
class Message:
    """One schema: its top struct and its message-wide properties."""

    kind: str
    api_key: int | None
    versions: Versions
    flexible: Versions
    struct: Struct
    structs: list[Struct]

    @property
    def name(self) -> str:
        return self.struct.schema_name


def snake_case(name: str) -> str:
    """`PreferredReadReplica` and `preferredReadReplica` -> `preferred_read_replica`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def load_messages(directory: Path) -> dict[str, Message]:
    """Read every schema of a directory, by message name, in the order of names."""
    return {path.stem: _message(json.loads(path.read_text())) for path in sorted(directory.glob("*.json"))}


def _message(data: dict[str, Any]) -> Message:
    name: str = data["name"]
    structs: list[Struct] = []
    top = _Reader(name, structs).struct(name, data["fields"])
    top.is_message = True
    return Message(
        kind=data["type"],
        api_key=data.get("apiKey"),
        versions=Versions.parse(data["validVersions"]),
        flexible=Versions.parse(data["flexibleVersions"]),
        struct=top,
        structs=structs,
    )


class _Reader:
    """Builds the structs of one message, each before those that use it."""

    def __init__(self, owner: str, structs: list[Struct]) -> None:
        self._owner = owner
        self._structs = structs

    def struct(self, name: str, fields: list[dict[str, Any]]) -> Struct:
        built = Struct(name, name, [self._field(field) for field in fields], self._owner)
        self._structs.append(built)
        return built

    def _field(self, data: dict[str, Any]) -> Field:
        type_name: str = data["type"]
        is_array = type_name.startswith("[]")
        type_name = type_name.removeprefix("[]")
        struct = self.struct(type_name, data["fields"]) if "fields" in data else None
        return Field(
            name=snake_case(data["name"]),
            schema_name=data["name"],
            type_name=type_name,
            is_array=is_array,
            struct=struct,
            versions=Versions.parse(data["versions"]),
            nullable=Versions.parse(data.get("nullableVersions")),
            tagged=Versions.parse(data.get("taggedVersions")),
            tag=data.get("tag", -1),
            default=_default(data),
            ignorable=data.get("ignorable", False),
            never_flexible=data.get("flexibleVersions") == "none",
        )


def _default(data: dict[str, Any]) -> str | None:
    # Schemas write the default null as the text "null".
    default = data.get("default")
    if default is None:
        return None
    return str(default).lower() if isinstance(default, bool) else str(default)
