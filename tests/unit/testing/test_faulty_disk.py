"""The faulty disk forgets names as well as bytes, and fails as a disk does."""

import pytest

from barnabas.core.errors import StorageError


def names(directory) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def put(disk, path, data=b"data"):
    """A file that is safe, name and all."""
    disk.write(path, data)
    disk.sync(path)
    disk.sync(path.parent)


def test_a_synced_file_whose_directory_was_not_synced_is_gone(disk, tmp_path):
    disk.write(tmp_path / "a", b"data")
    disk.sync(tmp_path / "a")
    disk.crash()
    assert names(tmp_path) == []


def test_what_is_safe_stays(disk, tmp_path):
    put(disk, tmp_path / "a")
    disk.crash()
    assert (tmp_path / "a").read_bytes() == b"data"


def test_a_rename_is_taken_back_with_what_it_replaced(disk, tmp_path):
    put(disk, tmp_path / "a", b"old")
    put(disk, tmp_path / "b", b"new")
    disk.rename(tmp_path / "b", tmp_path / "a")
    disk.crash()
    assert [(tmp_path / name).read_bytes() for name in ("a", "b")] == [b"old", b"new"]


def test_what_was_removed_comes_back(disk, tmp_path):
    put(disk, tmp_path / "a")
    disk.make_directory(tmp_path / "d")
    put(disk, tmp_path / "d" / "b")
    disk.sync(tmp_path)
    disk.remove(tmp_path / "a")
    disk.remove_tree(tmp_path / "d")
    disk.crash()
    assert (names(tmp_path), names(tmp_path / "d")) == (["a", "d"], ["b"])


def test_a_new_directory_goes_with_all_that_is_safe_in_it(disk, tmp_path):
    disk.make_directory(tmp_path / "d")
    put(disk, tmp_path / "d" / "a")
    disk.crash()
    assert names(tmp_path) == []


def test_names_below_a_renamed_directory_are_taken_back_too(disk, tmp_path):
    disk.make_directory(tmp_path / "d")
    disk.sync(tmp_path)
    put(disk, tmp_path / "d" / "a")
    disk.rename(tmp_path / "d" / "a", tmp_path / "d" / "b")
    disk.rename(tmp_path / "d", tmp_path / "e")
    disk.crash()
    assert (names(tmp_path), names(tmp_path / "d")) == (["d"], ["a"])


def test_the_first_changes_of_a_directory_may_stay(disk, tmp_path):
    for name in ("a", "b", "c"):
        disk.write(tmp_path / name, b"")
    disk.crash(keep_names=lambda change_count: change_count - 1)
    assert names(tmp_path) == ["a", "b"]


def test_a_synced_replacement_stays_and_another_may_not(disk, tmp_path):
    disk.replace(tmp_path / "a", b"one")
    disk.replace(tmp_path / "a", b"two", is_synced=False)
    disk.crash()
    assert (tmp_path / "a").read_bytes() == b"one"


@pytest.mark.parametrize(
    "operation",
    [
        lambda disk, path, long: disk.open_records(long, is_new=True),
        lambda disk, path, long: disk.append(long, b""),
        lambda disk, path, long: disk.write(long, b""),
        lambda disk, path, long: disk.replace(long, b""),
        lambda disk, path, long: disk.truncate(long, 0),
        lambda disk, path, long: disk.sync(long),
        lambda disk, path, long: disk.rename(path, long),
        lambda disk, path, long: disk.remove(long),
        lambda disk, path, long: disk.remove_tree(long),
        lambda disk, path, long: disk.make_directory(long),
    ],
)
def test_an_error_of_the_system_is_a_storage_error(disk, tmp_path, operation):
    put(disk, tmp_path / "a")
    with pytest.raises(StorageError, match="File name too long"):
        operation(disk, tmp_path / "a", tmp_path / ("x" * 256))
