"""The machine's own disk: what is on it when a call returns."""

import os

import pytest

from barnabas.broker.log.directories.directory import LogDirectory
from barnabas.broker.log.disk.files import LocalFileSystem


@pytest.fixture
def synced(monkeypatch):
    """The inodes of what was fsynced, in order."""
    inodes = []
    fsync = os.fsync

    def noted(fd):
        inodes.append(os.fstat(fd).st_ino)
        fsync(fd)

    monkeypatch.setattr(os, "fsync", noted)
    return inodes


def test_a_file_is_replaced_when_it_and_its_name_are_on_disk(tmp_path, synced):
    (tmp_path / "d").mkdir()
    LocalFileSystem().replace(tmp_path / "d" / "meta", b"new")
    # A file that is renamed stays the same one.
    assert synced == [path.stat().st_ino for path in (tmp_path / "d" / "meta", tmp_path / "d")]
    assert (tmp_path / "d" / "meta").read_bytes() == b"new"


def test_a_file_that_may_be_lost_is_not_waited_for(tmp_path, synced):
    LocalFileSystem().replace(tmp_path / "epochs", b"new", is_synced=False)
    assert synced == []


def test_a_disk_that_takes_a_part_of_a_write_is_given_the_rest(tmp_path, monkeypatch):
    file = LocalFileSystem().open_records(tmp_path / "log", is_new=True)
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, memoryview(data)[:3]))
    file.append(b"0123456789")
    assert (file.size, (tmp_path / "log").read_bytes()) == (10, b"0123456789")


def test_a_new_log_directory_survives_a_power_cut_with_all_that_is_safe_in_it(tmp_path, disk):
    directory = LogDirectory(disk, tmp_path / "made" / "now")
    directory.lock()
    directory.write_identity(1, "cluster", 0)
    disk.crash()
    assert directory.identity() == (1, "cluster")
