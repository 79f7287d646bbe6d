"""Every message in every version: bytes of Kafka's own clients decode to their values and encode back to their bytes.

Source: tests/golden/message-vectors.tsv (message, version, hex of the body, JSON of the values).
"""

import json
import pkgutil
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from barnabas.wire.protocol import messages
from barnabas.wire.protocol.api_keys import APIS
from barnabas.wire.protocol.wire import Budget, Message, Part, WireBuffer
from tools.codegen.schema import Field, Struct, load_messages, snake_case

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = load_messages(ROOT / "schemas/messages")
VECTORS = [
    line.rstrip("\n").split("\t")
    for line in (ROOT / "tests/golden/message-vectors.tsv").read_text().splitlines()
    if not line.startswith("#")
]


def message_class(name: str) -> type[Message]:
    """The generated class of a schema."""
    module = name
    if SCHEMAS[name].kind in ("request", "response"):
        module = name.removesuffix("Request").removesuffix("Response")
    found = getattr(import_module(f"barnabas.wire.protocol.messages.{snake_case(module)}"), name)
    assert issubclass(found, Message)
    return found


def plain(struct: Struct, value: Part, version: int) -> dict[str, Any]:
    """What a decoded struct holds, in the notation of the vectors: every field of the version, by lower-case name."""
    return {
        field.schema_name.lower(): plain_field(field, getattr(value, field.name), version)
        for field in struct.fields
        if version in field.versions
    }


def plain_field(field: Field, value: Any, version: int) -> Any:
    if value is None:
        return None
    if field.is_array:
        return [plain_value(field, item, version) for item in value]
    return plain_value(field, value, version)


def plain_value(field: Field, value: Any, version: int) -> Any:
    if field.struct is not None:
        return plain(field.struct, value, version)
    if field.type_name in ("bytes", "records", "uuid"):
        return bytes(value).hex()
    return value


def expected(struct: Struct, values: dict[str, Any], default: Part, version: int) -> dict[str, Any]:
    """A vector's values in the same notation, with the defaults of tagged fields that it leaves out."""
    given = {name.lower(): value for name, value in values.items()}
    wanted = {}
    for field in struct.fields:
        if version not in field.versions:
            continue
        name = field.schema_name.lower()
        if name in given:
            wanted[name] = expected_field(field, given.pop(name), default, version)
        else:
            assert version in field.tagged, f"the vector lacks {field.schema_name}"
            wanted[name] = plain_field(field, getattr(default, field.name), version)
    assert not given, f"the schema lacks {sorted(given)}"
    return wanted


def expected_field(field: Field, value: Any, default: Part, version: int) -> Any:
    if value is None or field.struct is None:
        return value
    module = import_module(type(default).__module__)
    inner = getattr(module, field.struct.class_name, None)
    if inner is None:
        inner = getattr(module, f"{field.struct.owner}{field.struct.schema_name}")
    if field.is_array:
        return [expected(field.struct, item, inner(), version) for item in value]
    return expected(field.struct, value, inner(), version)


def generated_messages() -> list[type[Message]]:
    """Every message class of every module of the package."""
    modules = [
        import_module(f"{messages.__name__}.{module.name}") for module in pkgutil.iter_modules(messages.__path__)
    ]
    found = [value for module in modules for value in vars(module).values() if isinstance(value, type)]
    return [value for value in found if issubclass(value, Message) and value is not Message]


def test_every_generated_message_has_two_vectors_for_every_version() -> None:
    tested = Counter((name, int(version)) for name, version, _, _ in VECTORS)
    classes = generated_messages()
    assert {c.SCHEMA_NAME for c in classes} == set(SCHEMAS)
    ours_alone = {key for key, api in APIS.items() if api.is_private}
    kafkas = [c for c in classes if c.API_KEY not in ours_alone]
    assert tested == {(c.SCHEMA_NAME, v): 2 for c in kafkas for v in range(c.MIN_VERSION, c.MAX_VERSION + 1)}


@pytest.mark.parametrize("name", sorted({vector[0] for vector in VECTORS}))
def test_vectors_decode_to_their_values_and_encode_to_their_bytes(name: str) -> None:
    schema, message = SCHEMAS[name], message_class(name)
    for _, version_text, body_text, values in (vector for vector in VECTORS if vector[0] == name):
        version = int(version_text)
        body = b"" if body_text == "-" else bytes.fromhex(body_text)
        decoded, end = message.decode(version, memoryview(body), 0, Budget())
        assert end == len(body)
        assert plain(schema.struct, decoded, version) == expected(
            schema.struct, json.loads(values), message(), version
        ), f"{name} v{version}"
        out = WireBuffer()
        decoded.encode(version, out)
        assert bytes(out).hex() == body.hex(), f"{name} v{version}"
        assert not out.regions
