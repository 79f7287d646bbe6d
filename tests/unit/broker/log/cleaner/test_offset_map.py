"""The map of the newest offsets: a dict, then a table, with the same answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.log.cleaner.offset_map import SLOT_BYTES, HashTable, OffsetMap

keys = st.one_of(st.none(), st.binary(max_size=3))


def test_knows_the_newest_offset() -> None:
    newest = OffsetMap(10_000, 0.9)
    assert newest.get(b"a", -1) == -1
    assert newest.put_all([b"a", b"b", None, b"a"], [3, 4, 5, 7])
    assert newest.put_all([b"b"], [9])
    assert (newest.get(b"a", -1), newest.get(b"b", -1), newest.get(None, -1), newest.get(b"c", -1)) == (7, 9, -1, -1)
    assert (len(newest), newest.latest_offset) == (2, 9)
    newest.note_offset(12)
    newest.note_offset(11)
    assert newest.latest_offset == 12


def test_is_full_at_its_load_factor() -> None:
    newest = OffsetMap(10 * SLOT_BYTES, 0.5)
    assert newest.capacity == 5
    assert newest.put_all([b"%d" % number for number in range(4)], list(range(4)))
    # As in Kafka, a known key does not fit either once it is full.
    assert not newest.put_all([b"0", b"new", b"0", b"1"], [4, 5, 6, 7])
    assert (newest.latest_offset, len(newest)) == (5, 5)
    assert newest.get(b"0", -1) == 4


def test_takes_at_least_one_key() -> None:
    newest = OffsetMap(0, 0.0)
    assert newest.put_all([b"a"], [1])
    assert not newest.put_all([b"b"], [2])


def test_holds_as_many_keys_as_kafkas() -> None:
    assert OffsetMap(134_217_728, 0.9).capacity == 5_033_164


def test_becomes_a_table_when_a_dict_takes_too_much() -> None:
    newest = OffsetMap(1000 * SLOT_BYTES, 0.9)
    for number in range(800):
        assert newest.put_all([b"key-%d" % number, None, b"same"], [2 * number, 2 * number, 2 * number + 1])
    assert "HashTable" in newest.get.__qualname__
    assert [newest.get(b"key-%d" % number, -1) for number in range(800)] == list(range(0, 1600, 2))
    assert newest.get(b"same", -1) == newest.latest_offset == 1599
    assert newest.get(b"other", -1) == newest.get(None, -1) == -1
    assert len(newest) == 801
    assert not newest.put_all([b"more-%d" % number for number in range(200)], list(range(1600, 1800)))
    assert len(newest) == newest.capacity == 900
    assert newest.latest_offset == 1600 + 98


def test_a_nearly_full_table_finds_everything() -> None:
    table = HashTable(101)
    keys = [b"%d" % number for number in range(100)]
    assert table.put_all(keys, list(range(100)), 100) == 100
    assert table.put_all([b"7", None], [700, 701], 101) == 2
    assert table.put_all([None, b"new"], [800, 801], 100) == 1
    assert [table.get(key, -1) for key in keys] == [700 if number == 7 else number for number in range(100)]
    assert table.get(b"none", -1) == -1
    assert sorted(table.offsets()) == sorted([*range(7), *range(8, 100), 700])


@pytest.mark.parametrize("buffer_bytes", [100_000, 2_000])
def test_survivors_are_the_newest_of_their_keys(buffer_bytes: int) -> None:
    newest = OffsetMap(buffer_bytes, 0.9)
    assert newest.put_all([b"a", b"b", None, b"a", b"c", b"b"], [10, 11, 12, 14, 15, 17])
    newest.note_offset(18)
    assert newest.survivors(9) == bytes([0, 0, 0, 0, 0, 1, 1, 0, 1, 0])
    newest.note_offset(100_000)
    assert newest.survivors(9) is None


def test_nothing_survives_where_there_is_nothing() -> None:
    assert OffsetMap(1000, 0.9).survivors(7) == b""


@given(st.lists(st.lists(keys, max_size=6)), st.integers(0, 4000), st.floats(0, 1))
def test_agrees_with_a_dict(batches: list[list[bytes | None]], buffer_bytes: int, load_factor: float) -> None:
    newest = OffsetMap(buffer_bytes, load_factor)
    model: dict[bytes, int] = {}
    offset = 0
    for batch in batches:
        fitted = newest.put_all(batch, list(range(offset, offset + len(batch))))
        for index, key in enumerate(batch):
            if key is None:
                continue
            if not fitted and offset + index > newest.latest_offset:
                break
            model[key] = offset + index
        offset += len(batch)
        if not fitted:
            assert len(model) == newest.capacity
            break
    assert len(newest) == len(model) <= newest.capacity
    for key in {key for batch in batches for key in batch}:
        assert newest.get(key, -1) == (-1 if key is None else model.get(key, -1))
