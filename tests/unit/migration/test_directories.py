import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from barnabas.broker.log.directories.directory import Identity, LogDirectory
from barnabas.broker.log.disk.files import LocalFileSystem
from barnabas.broker.log.producers.open_transactions import OpenTransaction
from barnabas.broker.log.producers.producer_snapshot import encode_snapshot
from barnabas.broker.log.producers.producer_state import ProducerEntry, ProducerState
from barnabas.broker.registry import embedded
from barnabas.core.types import TopicPartition
from barnabas.migration.directories import REGISTRY_FILE, LogFacts, look_for_transactions, survey
from barnabas.wire.records.builder import BatchBuilder

ZEROS = bytes(100)


def batch(base_offset: int, *, producer_id: int = -1, epoch: int = 0, value: bytes = b"v") -> bytes:
    builder = BatchBuilder(producer_id=producer_id, producer_epoch=0, base_sequence=0)
    builder.append(1, None, value)
    return bytes(builder.build(base_offset, epoch))


def old_message(offset: int, magic: int) -> bytes:
    """Only what a look at its head needs: offset, length, CRC, magic, and the rest of a message with nothing in it."""
    body = bytes(4) + bytes([magic, 0]) + bytes(8 if magic else 0) + b"\xff\xff\xff\xff" * 2
    return offset.to_bytes(8, "big") + len(body).to_bytes(4, "big") + body


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    LogDirectory(LocalFileSystem(), tmp_path).write_identity(7, "c" * 22, 0)
    return tmp_path


def write_log(data_dir: Path, name: str, segments: Sequence[bytes], epochs: str | None = "0\n1\n4 0\n") -> Path:
    """Segments of one record each at most, so that the next one's base offset is one more."""
    directory = data_dir / name
    directory.mkdir()
    for base_offset, data in enumerate(segments):
        (directory / f"{base_offset:020}.log").write_bytes(data)
    if epochs is not None:
        (directory / "leader-epoch-checkpoint").write_text(epochs)
    return directory


def look(data_dir: Path, topic: str = "t") -> LogFacts:
    return survey(data_dir, finds_producers=True).logs[TopicPartition(topic, 0)]


def test_the_registry_is_where_the_broker_looks_for_it() -> None:
    assert REGISTRY_FILE == embedded.REGISTRY_FILE


def test_a_directory(data_dir: Path) -> None:
    write_log(data_dir, "t-0", [batch(0), batch(1)])
    write_log(data_dir, "with-dashes-11", [b""])
    write_log(data_dir, f"t-1.{'0' * 32}-delete", [])
    (data_dir / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 1\n")
    facts = survey(data_dir, finds_producers=True)
    assert facts.problem is None
    assert facts.identity == Identity(7, "c" * 22)
    assert facts.logs.keys() == {TopicPartition("t", 0), TopicPartition("with-dashes", 11)}
    assert (facts.was_clean, facts.has_registry, facts.is_in_use) == (False, False, False)
    assert facts.former == [f"t-1.{'0' * 32}-delete"]
    assert facts.compacted == {TopicPartition("t", 0)}
    log = facts.logs[TopicPartition("t", 0)]
    assert (log.segment_count, log.size_bytes, log.latest_epoch, log.magics) == (2, len(batch(0)) * 2, 4, {2})


def test_nothing_is_written(data_dir: Path) -> None:
    write_log(data_dir, "t-0", [batch(0)])
    before = sorted(path for path in data_dir.rglob("*"))
    survey(data_dir, finds_producers=True)
    assert sorted(path for path in data_dir.rglob("*")) == before


def test_what_cannot_be_read_is_told(data_dir: Path) -> None:
    assert survey(data_dir / "none", finds_producers=False).problem == "the directory does not exist"
    (data_dir / "meta.properties").write_text("version=9\n")
    assert "has version 9" in str(survey(data_dir, finds_producers=False).problem)


@pytest.mark.parametrize("tail", [b"", ZEROS, batch(9)[:40], b"\x7f" * 100])
def test_producers_are_found_in_the_batches_after_a_kill(data_dir: Path, tail: bytes) -> None:
    write_log(data_dir, "t-0", [batch(0, producer_id=3), batch(1, producer_id=90) + batch(2, producer_id=5) + tail])
    assert look(data_dir).highest_producer_id == 90


def test_producers_are_found_in_snapshots(data_dir: Path) -> None:
    directory = write_log(data_dir, "t-0", [batch(0, producer_id=3), batch(1, producer_id=5)])
    state = ProducerState()
    state.put_all({44: ProducerEntry(0, [], 1, -1, -1)})
    (directory / f"{2:020}.snapshot").write_bytes(encode_snapshot(state))
    (directory / f"{1:020}.snapshot").write_bytes(b"torn")
    assert look(data_dir).highest_producer_id == 44


def test_transactional_ids_keep_producers_that_no_log_remembers(data_dir: Path) -> None:
    value = b"\0\0" + (77).to_bytes(8, "big") + bytes(20)
    write_log(data_dir, "__transaction_state-0", [batch(0, value=value) + batch(1, value=value)[:-5]])
    assert look(data_dir, "__transaction_state").highest_producer_id == 77


def test_nobody_asked_for_producers(data_dir: Path) -> None:
    write_log(data_dir, "t-0", [batch(0, producer_id=3)])
    assert survey(data_dir, finds_producers=False).logs[TopicPartition("t", 0)].highest_producer_id == -1


@pytest.mark.parametrize("epochs", [None, "", "0\n2\n3 0"])
def test_epochs_are_found_in_the_batches_where_the_file_is_torn(data_dir: Path, epochs: str | None) -> None:
    write_log(data_dir, "t-0", [batch(0, epoch=3), batch(1, epoch=6)], epochs)
    assert look(data_dir).latest_epoch == 6


def test_old_formats_are_seen(data_dir: Path) -> None:
    write_log(data_dir, "t-0", [old_message(0, 0) + old_message(1, 1), batch(1), old_message(2, 1) + batch(3)])
    log = look(data_dir)
    assert log.magics == {0, 1, 2}
    assert log.size_bytes == 2 * len(batch(0)) + len(old_message(0, 0)) + 2 * len(old_message(0, 1))


def transactional(base_offset: int, producer_id: int) -> bytes:
    builder = BatchBuilder(producer_id=producer_id, producer_epoch=2, base_sequence=0, is_transactional=True)
    builder.append(1_000, None, b"v")
    return bytes(builder.build(base_offset, 0))


@pytest.mark.parametrize("log_start_offset", [0, 2])
def test_open_transactions_are_looked_for_where_it_is_asked(data_dir: Path, log_start_offset: int) -> None:
    write_log(data_dir, "t-0", [transactional(0, 44), transactional(1, 45)])
    if log_start_offset:
        (data_dir / "log-start-offset-checkpoint").write_text(f"0\n1\nt 0 {log_start_offset}\n")
    facts = survey(data_dir, finds_producers=False)
    log = facts.logs[TopicPartition("t", 0)]
    assert log.open_transactions == []
    look_for_transactions(facts)
    both = [OpenTransaction(44, 2, 0, 1_000), OpenTransaction(45, 2, 1, 1_000)]
    assert log.open_transactions == ([] if log_start_offset else both)


def test_a_log_that_cannot_be_read_for_its_transactions_is_told(data_dir: Path) -> None:
    write_log(data_dir, "t-0", [transactional(0, 44)])
    facts = survey(data_dir, finds_producers=False)
    (data_dir / "log-start-offset-checkpoint").write_text("torn")
    look_for_transactions(facts)
    assert "log-start-offset-checkpoint" in str(facts.problem)


@pytest.mark.parametrize("name", [f"{0:020}.log", f"{0:020}.snapshot", "leader-epoch-checkpoint"])
def test_what_is_no_regular_file_is_not_opened(data_dir: Path, name: str) -> None:
    log = write_log(data_dir, "t-0", [batch(0)])
    (log / name).unlink(missing_ok=True)
    # Who opened it would wait for somebody to write.
    os.mkfifo(log / name)
    facts = look(data_dir)
    assert facts.irregular == [name]


def test_a_checkpoint_that_is_no_regular_file_is_a_problem(data_dir: Path) -> None:
    os.mkfifo(data_dir / "cleaner-offset-checkpoint")
    os.mkfifo(data_dir / ".lock")
    facts = survey(data_dir, finds_producers=True)
    assert facts.problem is not None
    assert "cleaner-offset-checkpoint: is a pipe, device or directory, no regular file" in facts.problem


def test_a_log_that_stands_elsewhere(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("disk")
    write_log(elsewhere, "t-0", [batch(0)])
    (data_dir / "t-0").symlink_to(elsewhere / "t-0")
    assert look(data_dir).leads_to == elsewhere / "t-0"


@pytest.mark.parametrize("name", ["t-2147483648", "t-99999999999999999999", "t-00", "t-0x", "-0", "t-"])
def test_names_that_are_no_partitions(data_dir: Path, name: str) -> None:
    """Partitions have 32 bits, and one name each."""
    (data_dir / name).mkdir()
    (data_dir / "t-2147483647").mkdir()
    assert list(survey(data_dir, finds_producers=True).logs) == [TopicPartition("t", 2147483647)]
    assert list(LogDirectory(LocalFileSystem(), data_dir).logs().logs) == [TopicPartition("t", 2147483647)]
