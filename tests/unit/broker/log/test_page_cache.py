"""The kernel's page cache, asked about real files on the disk of the temporary directory."""

import errno
import mmap
import os
import sys
import time
from typing import Any

import pytest

from barnabas.broker.log.disk.files import LocalFileSystem
from barnabas.broker.log.disk.page_cache import EverythingCached, LinuxPageCache, system_page_cache

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux can be asked")

SIZE = 3 << 20


@pytest.fixture
def file(tmp_path):
    made = LocalFileSystem().open_records(tmp_path / "records.log", is_new=True)
    made.append(os.urandom(SIZE))
    made.sync()
    return made


def drop(file, position=0, length=0):
    os.posix_fadvise(file.fd, position, length, os.POSIX_FADV_DONTNEED)


@pytest.fixture
def dropped(file):
    """A file of which no page is in memory; the kernel keeps for a while those that something still holds."""
    from barnabas.broker.log.disk.kernel_pages import Mincore

    deadline = time.monotonic() + 2
    while any(holds(Mincore(), file, at, 1) for at in range(0, SIZE, mmap.PAGESIZE)):
        if time.monotonic() > deadline:
            pytest.skip("this file system keeps its files in memory")
        drop(file)
    return file


@pytest.fixture(params=["Cachestat", "Mincore"])
def probe(request):
    from barnabas.broker.log.disk import kernel_pages

    return getattr(kernel_pages, request.param)()


def holds(probe, file, position, length):
    try:
        return probe.holds(file.fd, position, length)
    except OSError as error:
        pytest.skip(f"this kernel does not tell: {error}")


def test_what_was_written_is_there(probe, file):
    assert holds(probe, file, 0, SIZE)
    assert holds(probe, file, 4095, 2)
    assert holds(probe, file, SIZE - 1, 1)


def test_what_was_dropped_is_not(probe, dropped):
    assert not holds(probe, dropped, 0, 1)
    assert not holds(probe, dropped, 5000, SIZE - 5000)


def test_a_part_is_not_enough(probe, dropped):
    dropped.warm(0, 1 << 20)
    assert holds(probe, dropped, 0, 1 << 20)
    assert not holds(probe, dropped, 0, SIZE)
    assert not holds(probe, dropped, (1 << 20) - 1, 2 << 20)


def test_warming_brings_all_of_it(probe, dropped):
    dropped.warm(100, SIZE)
    assert holds(probe, dropped, 100, SIZE - 100)


def test_nothing_is_always_there(dropped):
    assert LinuxPageCache().holds(dropped, 0, 0)


def test_a_small_part_is_taken_where_all_of_it_is_there(file):
    cache = LinuxPageCache()
    assert cache.take(file, 4_000, 200) == file.read(4_000, 200)
    assert cache.take(file, SIZE - 10, 20) is None


def test_nothing_is_taken_from_the_disk(dropped):
    cache, taken = LinuxPageCache(), []
    # The kernel begins to read ahead even for who does not wait: where this process loses its core just then, all is
    # there when it goes on.
    while not taken or (None not in taken and len(taken) < 20):
        drop(dropped)
        taken.append(cache.take(dropped, 4_000, 200))
    assert taken[-1] is None


def test_a_file_system_that_can_not_be_read_without_waiting_is_asked_first(file, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EOPNOTSUPP, "not supported")

    cache = LinuxPageCache()
    with monkeypatch.context() as patched:
        patched.setattr(os, "preadv", refuse)
        assert cache.take(file, 0, 100) == file.read(0, 100)
    drop(file)
    assert cache.take(file, 0, 100) in (None, file.read(0, 100))


def test_a_kernel_that_refuses_is_not_asked_again(file):
    cache = LinuxPageCache()
    os.close(os.dup(file.fd))

    class Closed:
        fd = 1_000_000

    closed: Any = Closed()
    assert cache.holds(closed, 0, 1)
    # All probes are gone: everything counts as there.
    drop(file)
    assert cache.holds(file, 0, SIZE)


def test_an_answer_that_contradicts_what_was_just_read_is_the_last(dropped):
    cache = LinuxPageCache()
    assert not cache.holds(dropped, 0, 1)
    cache.check_read(dropped, 0, 1)
    # mincore says the same, and is believed.
    cache.check_read(dropped, 0, 1)
    assert not cache.holds(dropped, 0, 1)


def test_elsewhere_everything_counts_as_cached(dropped, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    cache = system_page_cache()
    assert isinstance(cache, EverythingCached)
    assert cache.holds(dropped, 0, SIZE)
    assert cache.take(dropped, 0, 100) == dropped.read(0, 100)
    cache.check_read(dropped, 0, SIZE)
