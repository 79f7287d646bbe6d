"""The disk in memory keeps what POSIX promises, and no more."""

from pathlib import Path
from random import Random

import pytest

from barnabas.core.errors import StorageError
from barnabas.testing.simulation.disk import MemoryDisk

DATA = Path("/data")


@pytest.fixture
def disk():
    made = MemoryDisk(lambda: 1_000)
    made.make_directory(DATA)
    made.sync(Path("/"))
    return made


def names(disk: MemoryDisk) -> list[str]:
    return [entry.name for entry in disk.list(DATA)]


def after_cuts(write) -> set[bytes | None]:
    """What a file `a` holds after power cuts that go one way or the other."""
    seen = set()
    for seed in range(200):
        disk = MemoryDisk(lambda: 1_000)
        disk.make_directory(DATA)
        disk.sync(Path("/"))
        write(disk)
        disk.cut_power(Random(seed))
        seen.add(disk.read(DATA / "a"))
    return seen


def test_what_was_synced_with_its_directory_stays():
    def write(disk: MemoryDisk) -> None:
        disk.replace(DATA / "a", b"data")

    assert after_cuts(write) == {b"data"}


def test_without_its_directory_a_file_may_go():
    def write(disk: MemoryDisk) -> None:
        disk.write(DATA / "a", b"data")
        disk.sync(DATA / "a")

    assert after_cuts(write) == {None, b"data"}


def test_of_what_was_appended_a_part_stays_and_may_end_in_zeros():
    def write(disk: MemoryDisk) -> None:
        disk.replace(DATA / "a", b"ab")
        disk.append(DATA / "a", b"cd")

    seen = after_cuts(write)
    assert {b"ab", b"abc", b"abcd", b"abc\0", b"ab\0\0"} <= seen
    assert all(each.startswith(b"ab") for each in seen)


def test_a_rename_may_be_taken_back():
    def write(disk: MemoryDisk) -> None:
        disk.replace(DATA / "a", b"old")
        disk.replace(DATA / "b", b"new")
        disk.rename(DATA / "b", DATA / "a")

    assert after_cuts(write) == {b"old", b"new"}


def test_the_end_of_a_process_loses_nothing_but_its_locks(disk):
    disk.write(DATA / "a", b"data")
    assert disk.lock(DATA / ".lock") is not None
    assert disk.lock(DATA / ".lock") is None
    disk.kill()
    assert disk.read(DATA / "a") == b"data"
    assert disk.lock(DATA / ".lock") is not None


def test_a_full_disk_takes_nothing(disk):
    file = disk.open_records(DATA / "a", is_new=True)
    file.append(b"1234")
    disk.free_bytes = 3
    with pytest.raises(StorageError):
        file.append(b"5678")
    assert (file.size, file.read(0, 10)) == (4, b"1234")


def test_a_file_that_was_removed_can_be_read_by_who_has_it_open(disk):
    file = disk.open_records(DATA / "a", is_new=True)
    file.append(b"1234")
    disk.remove(DATA / "a")
    assert (names(disk), file.read(1, 2)) == ([], b"23")


def test_what_was_synced_and_not_touched_since_stays_where_the_rest_is_cut_off():
    def write(disk: MemoryDisk) -> None:
        disk.append(DATA / "a", b"0123456789")
        disk.sync(DATA / "a")
        disk.sync(DATA)
        disk.truncate(DATA / "a", 6)

    assert after_cuts(write) == {b"0123456789", b"012345"}
