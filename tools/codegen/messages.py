"""Writes src/barnabas/wire/protocol/messages: one module per API with its request and response, one per data schema."""

import re
from pathlib import Path

from tools.codegen.api_keys import load_apis
from tools.codegen.classes import write_class
from tools.codegen.decoders import DecoderWriter
from tools.codegen.encoders import EncoderWriter
from tools.codegen.runs import Layouts
from tools.codegen.schema import Message, Struct, load_messages, snake_case
from tools.codegen.shapes import Shape, is_inlined, shape_of

PACKAGE = Path("src/barnabas/wire/protocol/messages")


def generate(root: Path) -> dict[Path, str]:
    """Return the text of every message module, by path below the root."""
    messages = load_messages(root / "schemas/messages")
    files = {}
    for api in load_apis(root):
        pair = [messages.pop(f"{api.message}{kind}") for kind in ("Request", "Response")]
        title = f"{api.message} (API key {api.key}): request and response."
        files[PACKAGE / f"{api.module}.py"] = _module(title, f"the {api.message} schemas", pair)
    for message in messages.values():
        title = f"{message.name}: {_KINDS[message.kind]}."
        files[PACKAGE / f"{snake_case(message.name)}.py"] = _module(title, f"the {message.name} schema", [message])
    return files


_KINDS = {
    "data": "a structure kept in records or files",
    "header": "what stands before every message's body",
    "coordinator-key": "the key of a record of an internal topic, after its int16 record type",
    "coordinator-value": "the value of a record of an internal topic, after its int16 version",
}
_SOURCES = {
    "request": "protocol guide, the API's section",
    "data": "implementation page and KIPs of the structure",
    "header": 'protocol guide, "Request and response headers"',
    "coordinator-key": "implementation page, consumer offset tracking; KIP-98 for transactions",
    "coordinator-value": "implementation page, consumer offset tracking; KIP-98 for transactions",
}


def _module(title: str, source: str, messages: list[Message]) -> str:
    _qualify_clashes(messages)
    lines: list[str] = []
    written: set[str] = set()
    layouts = Layouts()
    functions: list[str] = []
    tables: list[str] = []
    names: dict[Shape, str] = {}
    for message in messages:
        for struct in message.structs:
            if struct.class_name not in written:
                written.add(struct.class_name)
                write_class(struct, message, lines)
                lines.append("")
        codecs = _Codecs(message, layouts, names, functions)
        tables += codecs.write()
    body = "\n".join(lines + functions + tables)
    head = [f'"""{title}', "", f"Generated from {source} by scripts/generate.", ""]
    head += [f"Source: {_SOURCES[messages[0].kind]}.", '"""', ""]
    head += ["from __future__ import annotations", ""]
    head += _imports(body, layouts)
    return "\n".join(head + layouts.lines() + ["", ""]) + body


def _imports(body: str, layouts: Layouts) -> list[str]:
    lines = ["from collections.abc import Callable"]
    if layouts.lines():
        lines += ["from struct import Struct", "from typing import ClassVar, Final", ""]
    else:
        lines += ["from typing import ClassVar", ""]
    used = sorted(name for name in _WIRE_NAMES if re.search(rf"\b{name}\b", body))
    lines += [f"from barnabas.wire.protocol.wire import {', '.join(used)}", ""]
    return lines


def _wire_names() -> list[str]:
    forms = ("", "nullable_", "compact_", "compact_nullable_")
    kinds = ("string", "bytes", "records")
    elements = ("int32s", "int64s")
    names = [f"{verb}_{form}{kind}" for verb in ("read", "write") for form in forms for kind in kinds]
    names += [f"take_{form}{kind}" for form in forms[:2] for kind in kinds]
    names += [f"{verb}_{kind}" for verb in ("read", "write") for kind in elements]
    names += ["Budget", "MISSING", "Message", "Missing", "Part", "REQUEST_ELEMENT_LIMIT", "Records", "WireBuffer"]
    names += ["check_count", "check_tag_end", "not_in_version", "not_nullable", "read_compact_count"]
    names += ["read_compact_nullable_count", "read_tag", "read_tagged_count", "skip_tagged_fields"]
    return [*names, "write_tagged_fields", "write_uvarint", "wrong_length"]


_WIRE_NAMES = _wire_names()


def _qualify_clashes(messages: list[Message]) -> None:
    """Prefix a struct's name with the message's if request and response have different structs of that name."""
    if len(messages) < 2:
        return
    request, response = messages
    ours = {struct.schema_name: struct for struct in request.structs}
    for struct in response.structs:
        other = ours.get(struct.schema_name)
        if other is not None and not (_equal(struct, other) and request.flexible == response.flexible):
            struct.class_name = response.name + struct.schema_name
            other.class_name = request.name + other.schema_name


def _equal(one: Struct, other: Struct) -> bool:
    if len(one.fields) != len(other.fields):
        return False
    for left, right in zip(one.fields, other.fields, strict=True):
        if (left.struct is None) != (right.struct is None):
            return False
        if left.struct is not None and right.struct is not None and not _equal(left.struct, right.struct):
            return False
        for name in ("name", "type_name", "is_array", "versions", "nullable", "tagged", "tag", "default", "ignorable"):
            if getattr(left, name) != getattr(right, name):
                return False
    return True


class _Codecs:
    """Writes the codecs of one message, each nested one before those that call it."""

    def __init__(self, message: Message, layouts: Layouts, names: dict[Shape, str], lines: list[str]) -> None:
        self._message = message
        self._layouts = layouts
        self._names = names
        self._lines = lines
        self._decoders: dict[Shape, str] = {}
        self._encoders: dict[Shape, str] = {}

    def write(self) -> list[str]:
        """Append the functions; return the lines of the tables by version."""
        message = self._message
        suffixes = []
        for version in range(message.versions.high + 1):
            suffixes.append(self._ensure(message.struct, version) if version in message.versions else None)
        lines = []
        for table, verb in (("DECODERS", "decode"), ("ENCODERS", "encode")):
            lines.append(f"{message.struct.class_name}.{table} = (")
            lines += [f"    _{verb}_{suffix}," if suffix else "    None," for suffix in suffixes]
            lines += [")", ""]
        return lines

    def _ensure(self, struct: Struct, version: int) -> str:
        shape = shape_of(struct, version, version in self._message.flexible)
        known = self._names.get(shape)
        nested: dict[str, Shape] = {}
        for field in (*shape.present, *shape.tagged):
            if field.struct is not None:
                inner = shape_of(field.struct, version, shape.is_flexible)
                nested[field.name] = inner
                if field.is_array and is_inlined(inner):
                    continue
                suffix = self._ensure(field.struct, version)
                self._decoders[inner] = f"_decode_{suffix}"
                self._encoders[inner] = f"_encode_{suffix}"
        if known is not None:
            return known
        suffix = f"{snake_case(struct.class_name)}_v{version}"
        self._names[shape] = suffix
        self._decoders[shape] = f"_decode_{suffix}"
        self._encoders[shape] = f"_encode_{suffix}"
        self._lines += ["", *DecoderWriter(shape, self._layouts, self._decoders, nested).write()]
        self._lines += ["", *EncoderWriter(shape, self._layouts, self._encoders, nested).write()]
        return suffix
