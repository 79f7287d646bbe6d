"""Compiled modules do with any bytes what their source does: the same result, or the same error with the same words.

In an environment where nothing is compiled it compares the source with itself; tests/integration/test_wheel.py runs it
where the compiled wheel is installed.
"""

import sys
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

import barnabas
from barnabas.broker.log.cleaner import record_scan
from barnabas.wire.records import (
    assign,
    batch,
    builder,
    convert,
    formats,
    legacy,
    message_set,
    message_walk,
    precheck,
    record,
    record_rules,
    transcode,
    walk,
)
from tests.property.malformed_batches import kinds

NOW_MS = 1_600_000_000_000
MAX_BYTES = 1 << 20


def source_of(module: ModuleType) -> ModuleType:
    """The module from its source, beside the one that was imported."""
    name = module.__name__
    path = Path(barnabas.__file__).parent.joinpath(*name.split(".")[1:]).with_suffix(".py")
    twin_name = f"source_of_{name.replace('.', '_')}"
    loader = SourceFileLoader(twin_name, str(path))
    spec = spec_from_loader(twin_name, loader)
    assert spec is not None
    twin = module_from_spec(spec)
    sys.modules[twin_name] = twin  # dataclasses look there
    loader.exec_module(twin)
    return twin


def plain(value: object) -> object:
    """Something that is equal for equal values of twin classes, and holds no iterator and no view."""
    if isinstance(value, memoryview | bytearray):
        return bytes(value)
    if isinstance(value, tuple | list) or hasattr(value, "__next__"):
        return [plain(part) for part in value]  # type: ignore[attr-defined]
    if hasattr(value, "__dataclass_fields__"):
        return [plain(getattr(value, name)) for name in value.__dataclass_fields__]
    return value


def outcome(run: Callable[[], object]) -> object:
    try:
        return plain(run())
    except Exception as error:
        # Whatever it is: the twin must raise the same.
        return type(error).__name__, str(error)


SOURCES = {
    module: source_of(module)
    for module in (
        assign,
        builder,
        record_scan,
        convert,
        formats,
        legacy,
        message_set,
        message_walk,
        record,
        record_rules,
        transcode,
        precheck,
        walk,
    )
}

Call = Callable[[Callable[[ModuleType], ModuleType], bytes, int], object]


def _kept(of: Callable[[ModuleType], ModuleType], data: bytes, number: int) -> object:
    newest = {b"k": number, b"key0": 0, b"key1": 9}
    return of(record_scan).choose_kept(data, 0, len(data), number, 7, newest.get, 9, keeps_tombstones=number % 2 == 0)


def _rules(number: int) -> record_rules.WalkRules:
    return record_rules.WalkRules(10, number % 2 == 0, number % 3 == 0, "t-0")


def _assigned(of: Callable[[ModuleType], ModuleType], data: bytes, number: int) -> object:
    rules = record_rules.WalkRules(
        10, is_create_time=number % 2 == 0, is_compacted=number % 3 == 0, topic_partition="t-0"
    )
    target = assign.AppendTarget(number % 3, (None, 0, 1, 2, 3)[number % 5], MAX_BYTES, 5, 3, rules, MAX_BYTES)
    records = bytearray(data)
    return of(assign).assign_offsets(records, target, NOW_MS), records


def _walked(of: Callable[[ModuleType], ModuleType], data: bytes, number: int) -> object:
    rules = record_rules.WalkRules(
        10, is_create_time=number % 2 == 0, is_compacted=number % 3 == 0, topic_partition="t-0"
    )
    return of(walk).walk_batch(data, rules, NOW_MS, is_rebuilt=number % 4 == 0, max_bytes=MAX_BYTES)


def _message_walked(of: Callable[[ModuleType], ModuleType], data: bytes, number: int) -> object:
    rules = _rules(number)
    return of(message_walk).walk_message(data, rules, NOW_MS, MAX_BYTES)


def _is_usual(of: Callable[[ModuleType], ModuleType], data: bytes, number: int) -> object:
    rules = record_rules.WalkRules(
        10, is_create_time=number % 2 == 0, is_compacted=number % 3 == 0, topic_partition="t-0"
    )
    return of(precheck).needs_no_walk(data, rules, NOW_MS)


CALLS: dict[str, Call] = {
    "read_varint": lambda of, data, number: of(record).read_varint(data, number, record.LONGEST_INT32),
    "read_varlong": lambda of, data, number: of(record).read_varint(data, number, record.LONGEST_INT64),
    "scan_payload": lambda of, data, number: of(walk).scan_payload(data, number),
    "walk_batch": _walked,
    "walk_message": _message_walked,
    "walk_usual_messages": lambda of, data, number: of(message_walk).walk_usual_messages(
        data, number % 2, _rules(number), NOW_MS, MAX_BYTES
    ),
    "read_keys": lambda of, data, number: of(record_scan).read_keys(data, 0, len(data), number, 7),
    "choose_kept": _kept,
    "choose_marked": lambda of, data, number: of(record_scan).choose_marked(
        data, 0, number + 1, 7, [1] * (number + 1), keeps_tombstones=number % 2 == 0
    ),
    "rebase_timestamps": lambda of, data, number: of(record_scan).rebase_timestamps(
        data, is_log_append_time=number % 2 == 0
    ),
    "iterate_any_records": lambda of, data, number: of(formats).iterate_any_records(data, MAX_BYTES),
    "iterate_messages": lambda of, data, number: of(legacy).iterate_messages(data, MAX_BYTES),
    "iterate_records": lambda of, data, number: of(record).iterate_records(data, MAX_BYTES),
    "batches_of_any_magic": lambda of, data, number: of(formats).batches_of_any_magic(data),
    "needs_no_walk": _is_usual,
    "scan_messages": lambda of, data, number: of(transcode).scan_messages(data, number % 2),
    "messages_of_records": lambda of, data, number: of(transcode).messages_of_records(
        data, number, 1 << 62, -(1 << 62), number % 2, None, 1, MAX_BYTES, is_relative=number % 3 == 0
    ),
    "down_convert": lambda of, data, number: of(convert).down_convert([data], number % 2, 1, MAX_BYTES),
    "assign_offsets": _assigned,
}

PAYLOADS = [bytes(built) for built in (kind.data for kind in kinds()) if len(built) < 4096]


def _both(name: str, data: bytes, number: int) -> None:
    call = CALLS[name]
    expected = outcome(lambda: plain(call(SOURCES.__getitem__, data, number)))
    assert outcome(lambda: plain(call(lambda module: module, data, number))) == expected


@pytest.mark.parametrize("name", CALLS)
def test_malformed_batches_of_every_kind_end_alike(name: str) -> None:
    for data in PAYLOADS:
        for part in (data, data[batch.HEADER_BYTES :]):
            for number in range(4):
                _both(name, part, number)


@pytest.mark.parametrize("name", CALLS)
@given(data=st.one_of(st.binary(max_size=80), st.sampled_from(PAYLOADS)), number=st.integers(0, 5), noise=st.data())
def test_any_bytes_end_alike(name: str, data: bytes, number: int, noise: st.DataObject) -> None:
    changed = bytearray(data)
    for position in noise.draw(st.lists(st.integers(0, max(len(data) - 1, 0)), max_size=4)):
        changed[position : position + 1] = bytes([noise.draw(st.integers(0, 255))])
    for part in (bytes(changed), bytes(changed[batch.HEADER_BYTES :])):
        _both(name, part, number)


numbers = st.one_of(st.integers(0, 200), st.integers(-(1 << 63), (1 << 63) - 1))


@given(numbers)
def test_numbers_are_encoded_alike(number: int) -> None:
    assert builder.encode_varint(number) == SOURCES[builder].encode_varint(number)


records = st.lists(
    st.tuples(numbers, st.none() | st.binary(max_size=40), st.none() | st.binary(max_size=300)), max_size=4
)


@given(records, st.sampled_from([0, 1, 2]), numbers)
def test_what_is_built_is_alike(
    appended: list[tuple[int, bytes | None, bytes | None]], magic: int, offset: int
) -> None:
    def build(builders: ModuleType, message_sets: ModuleType) -> bytes:
        if magic == batch.MAGIC:
            made = builders.BatchBuilder(producer_id=3, producer_epoch=1, base_sequence=5)
            for timestamp_ms, key, value in appended:
                made.append(timestamp_ms, key, value, [("h", value)])
            return bytes(made.build(offset))
        wrapped = message_sets.MessageSetBuilder(magic, batch.Codec.SNAPPY)
        for index, (timestamp_ms, key, value) in enumerate(appended):
            wrapped.append(offset + index, timestamp_ms, key, value)
        return bytes(wrapped.build())

    expected = outcome(lambda: build(SOURCES[builder], SOURCES[message_set]))
    assert outcome(lambda: build(builder, message_set)) == expected
