"""The lines of a dump; that they are Kafka's is shown in tests/compat/test_log_dump.py."""

import struct
from pathlib import Path
from typing import Any

import pytest

from barnabas.clients.hash_order import added_in_sets, in_hash_order, string_hash, topic_partition_hash
from barnabas.clients.internal_records import decode_offsets_record, decode_transaction_record
from barnabas.core.types import TopicPartition
from barnabas.inspection.decoders import DECODER_CLASSES, decoder_of, plain
from barnabas.inspection.dump import DumpOptions, LogDump, default_decode
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.control import MarkerType
from barnabas.wire.records.message_set import MessageSetBuilder
from tests.unit.inspection.conftest import batch, marker, snapshot


def dump(*paths: Path, **options: Any) -> tuple[list[str], list[str], int]:
    lines: list[str] = []
    complaints: list[str] = []
    work = LogDump(DumpOptions(**options), lines.append, complaints.append)
    for path in paths:
        work.dump(path)
    work.finish()
    return lines, complaints, work.failure_count


def test_a_log(log_files):
    path = log_files.segment(0, batch(0, codec=Codec.GZIP), marker(2, 9, MarkerType.ABORT))
    lines, complaints, failures = dump(path, is_deep=True, decode=default_decode())
    assert (complaints, failures) == ([], 0)
    assert lines[:2] == [f"Dumping {path}", "Starting offset: 0"]
    assert lines[2].startswith("baseOffset: 0 lastOffset: 1 count: 2 baseSequence: -1 lastSequence: -1 producerId: -1 ")
    assert " compresscodec: GZIP " in lines[2]
    assert lines[2].endswith(" isvalid: true")
    assert lines[3] == (
        "| offset: 0 CreateTime: 1000 keysize: 2 valuesize: 5 sequence: -1 headerKeys: [] key: k0 payload: value"
    )
    assert lines[6].endswith("sequence: -1 headerKeys: [] endTxnMarker: ABORT coordinatorEpoch: 0")


@pytest.mark.parametrize(("magic", "time"), [(0, "NoTimestampType: -1"), (1, "CreateTime: 7")])
def test_old_formats(log_files, magic, time):
    builder = MessageSetBuilder(magic, Codec.LZ4)
    builder.append(0, 7, b"k", b"v")
    builder.append(1, 7, None, None)
    path = log_files.write(0, ".log", bytes(builder.build()))
    lines, complaints, _ = dump(path, is_deep=True, decode=default_decode())
    assert complaints == []
    assert lines[2].startswith(f"offset: 1 position: 0 {time} size: ")
    assert f" magic: {magic} compresscodec: LZ4 crc: " in lines[2]
    assert lines[3].startswith(f"| offset: 0 {time} keysize: 1 valuesize: 1 crc: ")
    assert lines[3].endswith(" isvalid: true key: k payload: v")
    assert lines[4].startswith(f"| offset: 1 {time} keysize: -1 valuesize: -1 crc: ")


def test_indexes_and_snapshots(two_segments):
    two_segments.write(4, ".txnindex", struct.pack(">hqqqq", 0, 5, 6, 7, 8))
    two_segments.write(4, ".snapshot", snapshot((5, 0, 1, 3, 1, 9, 2, 3), (6, 1, -1, -1, 0, 9, 2, -1)))
    paths = [two_segments.path / f"{4:020}{suffix}" for suffix in (".index", ".timeindex", ".txnindex", ".snapshot")]
    lines, complaints, _ = dump(*paths)
    assert complaints == []
    assert [line for line in lines if not line.startswith("Dumping")] == [
        "offset: 7 position: 89",
        "timestamp: 4001 offset: 7",
        "version: 0 producerId: 5 firstOffset: 6 lastOffset: 7 lastStableOffset: 8",
        "producerId: 5 producerEpoch: 0 coordinatorEpoch: 2 currentTxnFirstOffset: Some(3) firstSequence: 0 "
        "lastSequence: 1 lastOffset: 3 offsetDelta: 1 timestamp: 9",
        "producerId: 6 producerEpoch: 1 coordinatorEpoch: 2 currentTxnFirstOffset: None ",
    ]
    lines, _, _ = dump(*paths[:2], is_index_check_only=True)
    assert lines == [f"Dumping {path}" for path in paths[:2]]
    lines, _, _ = dump(*paths[:2], is_index_sanity_only=True)
    assert lines[1::2] == [f"{path} passed sanity check." for path in paths[:2]]


def test_a_file_that_cannot_be_read_does_not_stop_the_next(log_files):
    damaged = log_files.write(0, ".log", batch(0) + bytes(30))
    missing = log_files.path / f"{7:020}.log"
    index = log_files.write(0, ".index", struct.pack(">ii", 9, 900))
    torn = log_files.write(3, ".snapshot", b"\0\1")
    future = log_files.write(5, ".txnindex", b"\1\0" + bytes(32))
    good = log_files.segment(20, batch(20))
    lines, complaints, failures = dump(damaged, missing, index, torn, future, good)
    assert failures == len(complaints) == 5
    assert all(complaint.count("\n") == 0 for complaint in complaints)
    assert lines[-1].startswith("baseOffset: 20 ")


def test_records_of_another_kind_are_told_and_passed_over(log_files):
    path = log_files.segment(0, batch(0), batch(2))
    lines, complaints, failures = dump(path, is_deep=True, decode=decode_offsets_record)
    assert failures == len(complaints) == 4
    assert sum(line.startswith("| offset: ") and line.endswith("headerKeys: []") for line in lines) == 4


def test_a_group_whose_leader_gave_a_member_nothing(log_files):
    value = struct.pack(">hh8sihh1s", 3, 8, b"consumer", 1, -1, 1, b"m") + struct.pack(">qi", 1, 1)
    value += struct.pack(">h1shh1sh1siiii", 1, b"m", -1, 1, b"c", 1, b"h", 9, 9, 0, 0)
    builder = BatchBuilder()
    builder.append(1, struct.pack(">hh1s", 2, 1, b"g"), value)
    path = log_files.write(0, ".log", bytes(builder.build()))
    lines, complaints, _ = dump(path, is_deep=True, decode=decode_offsets_record)
    assert complaints == []
    assert lines[3].endswith('"generationId":1,"assignment":"{m=}"}')


def test_decoders_by_name():
    assert [decoder_of(name)(b"\0\0\0\0\0\0\0A") for name in DECODER_CLASSES] == [
        "\0\0\0\0\0\0\0A",
        "0",
        "65",
        "0000000000000041",
    ]
    with pytest.raises(KeyError):
        decoder_of("java.lang.String")


def test_a_transaction(log_files):
    key = b"\0\0" + b"\0\x03abc"
    value = struct.pack(">hqhibi", 0, 7, 1, 60_000, 1, 1) + b"\0\1t" + struct.pack(">iiiqq", 2, 0, 1, 5, 4)
    builder = BatchBuilder()
    builder.append(1, key, value)
    builder.append(1, key, None)
    builder.append(1, key, value[:12] + b"\0\0\0\x00\x63" + value[17:])
    path = log_files.write(0, ".log", bytes(builder.build()))
    lines, complaints, failures = dump(path, is_deep=True, decode=decode_transaction_record)
    assert (
        lines[3].split(" key: ")[1]
        == (
            "transaction_metadata::transactionalId=abc payload: producerId:7,producerEpoch:1,state=Ongoing,"
            "partitions=[t-0,t-1],txnLastUpdateTimestamp=5,txnTimeoutMs=60000"
        )
        or "partitions=[t-1,t-0]" in lines[3]
    )
    assert lines[4].endswith("payload: <DELETE>")
    assert (failures, len(complaints)) == (1, 1)


def test_hash_order_is_javas():
    assert string_hash("hello") == 99162322
    assert string_hash("ä𝄞") == ((ord("ä") * 31 + 0xD834) * 31 + 0xDD1E) & 0xFFFFFFFF
    assert topic_partition_hash(TopicPartition("t", 1)) == 32 * 31 + ord("t")
    assert in_hash_order(["b", "a", "c"], string_hash) == ["a", "b", "c"]
    assert added_in_sets([["c", "b"], ["a", "b"]], string_hash) == ["a", "b", "c"]


def test_plain_shows_what_there_is():
    from barnabas.inspection.stored_batch import StoredRecord

    text = decoder_of(DECODER_CLASSES[0])
    assert plain(text, text)(StoredRecord(0, 0, None, b"\xff")) == (None, "�")
