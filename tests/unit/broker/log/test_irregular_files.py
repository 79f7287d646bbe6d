"""What stands in a log directory under a log's names, and is no regular file: it is named, and left as it is."""

import asyncio
import os

import pytest

from barnabas.broker.log.disk.files import LocalFileSystem
from barnabas.core.errors import StorageError
from barnabas.core.types import TopicPartition
from tests.unit.broker.log.conftest import started

TP = TopicPartition("t", 0)
OTHER = TopicPartition("other", 3)
SECRET = b"what a link leads to\n" * 10


@pytest.fixture
def victim(tmp_path):
    path = tmp_path / "victim"
    path.write_bytes(SECRET)
    return path


@pytest.fixture
def start(make_manager):
    return lambda: started(make_manager(files=LocalFileSystem()))


def _stop(manager):
    asyncio.run(manager.close())


@pytest.fixture
def written(start, root, make_batch):
    """A directory with two logs of three records, that was closed."""
    manager = start()
    for each in (TP, OTHER):
        manager.get_or_create(each).value.append(make_batch(3), 0)
    _stop(manager)


def _link(path, victim):
    path.unlink(missing_ok=True)
    path.symlink_to(victim)


def _fifo(path, victim):
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def _directory(path, victim):
    path.unlink(missing_ok=True)
    path.mkdir()


NAMES = [f"{0:020d}{suffix}" for suffix in (".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".log.swap")] + [
    f"{3:020d}.log.cleaned",
    f"{3:020d}.log.deleted",
    "next.log.deleted",
    "leader-epoch-checkpoint",
    "leader-epoch-checkpoint.tmp",
]


@pytest.mark.parametrize("put", [_link, _fifo, _directory])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("is_clean", [True, False], ids=["closed", "killed"])
def test_a_file_of_a_log_that_is_no_regular_one_costs_its_partition(
    start, root, written, victim, failures, caplog, put, name, is_clean
):
    path = root / "t-0" / name
    put(path, victim)
    kind = os.lstat(path).st_mode
    if not is_clean:
        (root / ".kafka_cleanshutdown").unlink()

    manager = start()

    assert manager.get(TP) is None
    assert manager.get(OTHER).log_end_offset == 3
    assert f"{path} is no regular file" in caplog.text
    _stop(manager)
    assert victim.read_bytes() == SECRET
    assert os.lstat(path).st_mode == kind, "it is left as it is"
    assert failures == []


def test_a_partition_on_another_disk_by_a_link_is_served_and_deleted_by_its_link(
    start, root, written, tmp_path, clock, failures, make_batch
):
    elsewhere = tmp_path / "elsewhere"
    (root / "t-0").rename(elsewhere)
    (root / "t-0").symlink_to(elsewhere)

    manager = start()
    assert manager.get(TP).append(make_batch(1), 0).base_offset == 3
    _stop(manager)
    manager = start()
    assert manager.get(TP).log_end_offset == 4
    manager.delete(TP)
    clock.advance(120_000)

    assert [each for each in os.listdir(root) if each.startswith("t-0")] == []
    assert f"{0:020d}.log" in os.listdir(elsewhere), "what the link led to stays, as in Kafka"
    _stop(manager)
    assert failures == []


def test_a_link_that_was_marked_as_deleted_goes_at_the_next_start(start, root, written, tmp_path, clock, failures):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_bytes(b"")
    link = root / f"t-0.{0:032x}-delete"
    link.symlink_to(elsewhere)

    manager = start()
    clock.advance(120_000)

    assert not link.is_symlink()
    assert os.listdir(elsewhere) == ["kept"]
    _stop(manager)
    assert failures == []


def _dangling(path, victim):
    path.symlink_to(path.parent / "not mounted")


def _loop(path, victim):
    path.symlink_to(path)


def _file(path, victim):
    path.write_bytes(SECRET)


@pytest.mark.parametrize("put", [_dangling, _loop, _link, _file])
def test_what_has_the_name_of_a_partitions_directory_costs_that_partition(
    start, root, written, victim, failures, clock, caplog, put
):
    path = root / "new-0"
    put(path, victim)
    new = TopicPartition("new", 0)

    manager = start()
    assert manager.get_or_create(new).value is None
    assert f"{path} is no directory" in caplog.text
    assert manager.get(OTHER).log_end_offset == 3
    manager.delete(new)
    clock.advance(120_000)

    assert not os.path.lexists(path)
    if put is _file:
        assert [each.read_bytes() for each in root.glob("new-0.*-delete")] == [SECRET], "no link is left alone"
    assert victim.read_bytes() == SECRET
    _stop(manager)
    _stop(start())
    assert failures == []


def test_a_directory_of_log_dirs_may_be_a_link(start, root, tmp_path, make_batch, failures):
    (tmp_path / "disk").mkdir()
    root.symlink_to(tmp_path / "disk")

    manager = start()
    manager.get_or_create(TP).value.append(make_batch(3), 0)
    _stop(manager)

    assert (tmp_path / "disk" / "t-0" / f"{0:020d}.log").stat().st_size > 0
    assert start().get(TP).log_end_offset == 3
    assert failures == []


@pytest.mark.parametrize("put", [_link, _fifo])
@pytest.mark.parametrize(
    "name",
    [
        ".lock",
        "meta.properties",
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
        "log-start-offset-checkpoint",
        "cleaner-offset-checkpoint",
    ],
)
def test_a_file_of_the_directory_that_is_no_regular_one_costs_the_directory(start, root, written, victim, put, name):
    put(root / name, victim)
    with pytest.raises(StorageError, match=rf"{name}: is a .*, no regular file"):
        start()
    assert victim.read_bytes() == SECRET


@pytest.mark.parametrize(
    "work",
    [
        lambda files, path: files.open_records(path),
        lambda files, path: files.open_records(path, is_new=True),
        lambda files, path: files.read(path),
        lambda files, path: files.read_end(path, 1),
        lambda files, path: files.append(path, b"x"),
        lambda files, path: files.write(path, b"x"),
        lambda files, path: files.truncate(path, 0),
        lambda files, path: files.lock(path),
        lambda files, path: files.replace(path.with_suffix(""), b"x"),
    ],
)
@pytest.mark.parametrize("put", [_link, _fifo])
def test_nothing_is_opened_that_is_no_regular_file(tmp_path, victim, put, work):
    """Whoever put it there may have done so after the directory was looked through."""
    path = tmp_path / "file.tmp"
    put(path, victim)
    with pytest.raises(StorageError, match=r"file\.tmp: is a .*, no regular file"):
        work(LocalFileSystem(), path)
    assert victim.read_bytes() == SECRET


def test_times_are_those_of_the_link(tmp_path, victim):
    path = tmp_path / "file"
    _link(path, victim)
    before = victim.stat().st_mtime_ns
    LocalFileSystem().set_modified(path, 1_000)
    assert victim.stat().st_mtime_ns == before
    assert LocalFileSystem().modified_ms(path) == 1_000
