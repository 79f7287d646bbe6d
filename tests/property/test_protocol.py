"""Any bytes give a message or a ProtocolError; whatever is decoded can be said again; whatever is said comes back."""

import random
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from barnabas.core.errors import ProtocolError
from barnabas.wire.protocol.api_keys import APIS, request_class, response_class
from barnabas.wire.protocol.header import decode_request_header, decode_response_header
from barnabas.wire.protocol.wire import Budget, Message, Part, WireBuffer
from tools.codegen.schema import Field, Struct, load_messages

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = load_messages(ROOT / "schemas/messages")
MESSAGES = [load(key) for key in APIS for load in (request_class, response_class)]
CODECS = [(message, v) for message in MESSAGES for v in range(message.MIN_VERSION, message.MAX_VERSION + 1)]
SEED = 2_718


def decode_or_refuse(message: type[Message], version: int, body: bytes) -> None:
    """Decode; nothing but a ProtocolError may come out, and what was decoded survives a second trip."""
    try:
        decoded, end = message.decode(version, memoryview(body), 0, Budget(10_000))
    except ProtocolError:
        return
    assert end <= len(body)
    once, twice = WireBuffer(), WireBuffer()
    decoded.encode(version, once)
    again, end = message.decode(version, memoryview(once))
    assert end == len(once)
    again.encode(version, twice)
    assert once == twice


@given(st.sampled_from(CODECS), st.binary(max_size=200))
def test_any_bytes_give_a_message_or_a_protocol_error(codec: tuple[type[Message], int], body: bytes) -> None:
    decode_or_refuse(*codec, body)


@given(st.binary(max_size=64), st.sampled_from(sorted(APIS)), st.integers(-1, 20))
def test_any_bytes_give_a_header_or_a_protocol_error(frame: bytes, api_key: int, version: int) -> None:
    for decode in (
        lambda: decode_request_header(memoryview(frame)),
        lambda: decode_request_header(memoryview(api_key.to_bytes(2, "big") + frame)),
        lambda: decode_response_header(memoryview(frame), api_key, version),
    ):
        try:
            decode()
        except ProtocolError:
            pass


def test_mutated_bodies_give_a_message_or_a_protocol_error() -> None:
    chance = random.Random(SEED)
    by_name = {message.SCHEMA_NAME: message for message in MESSAGES}
    for line in (ROOT / "tests/golden/message-vectors.tsv").read_text().splitlines():
        name, version, body_text, _ = line.split("\t") if not line.startswith("#") else ("", "", "", "")
        if name not in by_name or body_text == "-":
            continue
        for _ in range(8):
            body = mutated(bytes.fromhex(body_text), chance)
            try:
                decode_or_refuse(by_name[name], int(version), body)
            except Exception as error:
                raise AssertionError(f"{name} v{version} on {body.hex()}") from error


def mutated(body: bytes, chance: random.Random) -> bytes:
    """Cut, flip, insert or drop a little."""
    position = chance.randrange(len(body))
    match chance.randrange(4):
        case 0:
            return body[:position]
        case 1:
            return body[:position] + bytes([chance.randrange(256)]) + body[position + 1 :]
        case 2:
            return body[:position] + chance.choice((b"\xff", b"\x7f\xff\xff\xff", b"\x00")) + body[position:]
        case _:
            return body[:position] + body[position + 4 :]


def field_values(field: Field, module: object, version: int) -> st.SearchStrategy[Any]:
    """Values that a field can hold in a version; its default where the version lacks it."""
    values = _NUMBERS.get(field.type_name)
    if field.struct is not None:
        values = struct_values(field.struct, module, version)
    assert values is not None
    if field.is_array:
        values = st.lists(values, max_size=3)
    return st.none() | values if version in field.nullable else values


def struct_values(struct: Struct, module: object, version: int) -> st.SearchStrategy[Part]:
    """Instances of a struct's class that a version can say."""
    found = getattr(module, struct.class_name, None) or getattr(module, struct.owner + struct.schema_name)
    present = [field for field in struct.fields if version in field.versions]
    return st.builds(found, **{field.name: field_values(field, module, version) for field in present})


_NUMBERS: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "int8": st.integers(-(1 << 7), (1 << 7) - 1),
    "int16": st.integers(-(1 << 15), (1 << 15) - 1),
    "uint16": st.integers(0, (1 << 16) - 1),
    "int32": st.integers(-(1 << 31), (1 << 31) - 1),
    "uint32": st.integers(0, (1 << 32) - 1),
    "int64": st.integers(-(1 << 63), (1 << 63) - 1),
    "float64": st.floats(allow_nan=False),
    "string": st.text(max_size=200),
    "bytes": st.binary(max_size=200),
    "records": st.binary(max_size=200),
    "uuid": st.binary(min_size=16, max_size=16),
}


@given(st.data())
def test_every_message_comes_back_as_it_was(data: st.DataObject) -> None:
    message, version = data.draw(st.sampled_from(CODECS))
    module = __import__(message.__module__, fromlist=["*"])
    wanted = data.draw(struct_values(SCHEMAS[message.SCHEMA_NAME].struct, module, version))
    assert isinstance(wanted, message)
    out = WireBuffer()
    wanted.encode(version, out)
    assert message.decode(version, memoryview(out)) == (wanted, len(out))
