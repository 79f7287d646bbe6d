"""The wire's primitives, one by one."""

import pytest

from barnabas.core.errors import EncodeError, ProtocolError
from barnabas.wire.protocol import wire
from barnabas.wire.protocol.wire import Budget, WireBuffer


class FileRegion:
    """Bytes of a file that nobody reads here."""

    def __init__(self, length: int) -> None:
        self.fd = 3
        self.position = 0
        self.length = length


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (1, "01"),
        (127, "7f"),
        (128, "8001"),
        (300, "ac02"),
        (16_383, "ff7f"),
        (16_384, "808001"),
        (0x7FFFFFFF, "ffffffff07"),
    ],
)
def test_uvarint_is_least_significant_group_first(value: int, encoded: str) -> None:
    out = WireBuffer()
    wire.write_uvarint(value, out)
    assert out.hex() == encoded
    assert wire.read_uvarint(memoryview(out), 0) == (value, len(out))


@pytest.mark.parametrize("encoded", ["ffffffff08", "ffffffffff01", "808080808000"])
def test_uvarint_of_more_than_31_bits_is_refused(encoded: str) -> None:
    with pytest.raises(ProtocolError, match="varint"):
        wire.read_uvarint(memoryview(bytes.fromhex(encoded)), 0)


@pytest.mark.parametrize("value", ["", "a", "é∂", "x" * 126, "x" * 127, "x" * 32_767])
def test_strings_keep_their_text(value: str) -> None:
    plain, compact = WireBuffer(), WireBuffer()
    wire.write_string(value, plain)
    wire.write_compact_string(value, compact)
    assert wire.read_string(memoryview(plain), 0) == (value, len(plain))
    assert wire.read_nullable_string(memoryview(plain), 0) == (value, len(plain))
    assert wire.read_compact_string(memoryview(compact), 0) == (value, len(compact))
    assert wire.read_compact_nullable_string(memoryview(compact), 0) == (value, len(compact))


def test_string_longer_than_an_int16_says_is_refused_in_compact_form_too() -> None:
    out = WireBuffer()
    with pytest.raises(EncodeError, match="32768"):
        wire.write_compact_string("x" * 32_768, out)
    wire.write_compact_bytes(b"x" * 32_768, out)
    with pytest.raises(ProtocolError, match="32768"):
        wire.read_compact_string(memoryview(out), 0)
    with pytest.raises(ProtocolError, match="32768"):
        wire.read_compact_nullable_string(memoryview(out), 0)


def test_null_is_minus_one_and_zero_in_compact_form() -> None:
    out = WireBuffer()
    wire.write_nullable_string(None, out)
    wire.write_nullable_bytes(None, out)
    wire.write_nullable_records(None, out)
    wire.write_compact_nullable_string(None, out)
    wire.write_compact_nullable_bytes(None, out)
    wire.write_compact_nullable_records(None, out)
    assert out.hex() == "ffff" + "ffffffff" * 2 + "000000"


def test_null_where_none_may_be_is_refused() -> None:
    for read, encoded in (
        (wire.read_string, "ffff"),
        (wire.read_compact_string, "00"),
        (wire.read_bytes, "ffffffff"),
        (wire.read_compact_bytes, "00"),
    ):
        with pytest.raises(ProtocolError):
            read(memoryview(bytes.fromhex(encoded)), 0)


@pytest.mark.parametrize("read", [wire.read_string, wire.read_nullable_string])
def test_string_longer_than_the_bytes_left_is_refused(read: object) -> None:
    assert callable(read)
    with pytest.raises(ProtocolError, match="string of 3 bytes"):
        read(memoryview(b"\x00\x03ab"), 0)


def test_records_are_writable_slices_of_a_writable_input() -> None:
    frame = bytearray(b"\x00\x00\x00\x03abc")
    records, end = wire.read_nullable_records(memoryview(frame), 0)
    assert records is not None
    assert end == 7
    records[0] = ord("z")
    assert frame[4:] == b"zbc"


def test_region_leaves_its_length_in_the_buffer_and_its_bytes_out() -> None:
    out = WireBuffer(b"head")
    region = FileRegion(300)
    wire.write_nullable_records(region, out)
    assert out == b"head\x00\x00\x01\x2c"
    wire.write_compact_nullable_records(region, out)
    assert out.regions == [(8, region), (10, region)]
    assert out.total_bytes() == 10 + 600


@pytest.mark.parametrize(("count", "left"), [(-1, 100), (26, 100), (0x7FFFFFFF, 100)])
def test_count_that_cannot_fit_is_refused(count: int, left: int) -> None:
    with pytest.raises(ProtocolError, match="array"):
        wire.check_count(count, left, 4, Budget())


def test_budget_is_shared_by_all_arrays_of_a_message() -> None:
    budget = Budget(10)
    wire.check_count(6, 100, 1, budget)
    wire.check_count(4, 100, 1, budget)
    with pytest.raises(ProtocolError, match="too many"):
        wire.check_count(1, 100, 1, budget)


def test_unknown_tagged_fields_are_skipped_and_cost_budget() -> None:
    section = bytes.fromhex("0200036162630900ff")
    budget = Budget(2)
    assert wire.skip_tagged_fields(memoryview(section), 0, budget) == len(section) - 1
    assert budget.elements_left == 0
    with pytest.raises(ProtocolError):
        wire.skip_tagged_fields(memoryview(section), 0, budget)


def test_tagged_field_longer_than_the_bytes_left_is_refused() -> None:
    with pytest.raises(ProtocolError, match="tagged field"):
        wire.skip_tagged_fields(memoryview(bytes.fromhex("01 00 05 6162")), 0, Budget())


def test_a_null_string_is_none_and_no_empty_one() -> None:
    assert wire.read_nullable_string(memoryview(b"\xff\xff"), 0) == (None, 2)
    assert wire.read_nullable_string(memoryview(b"\0\0"), 0) == ("", 2)
