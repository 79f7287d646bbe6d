"""Whatever bytes stand in the files of a log, looking at them ends in lines and findings, never in an exception."""

import struct
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from barnabas.clients.internal_records import decode_offsets_record, decode_transaction_record
from barnabas.core.types import TopicPartition
from barnabas.inspection.dump import DumpOptions, LogDump, default_decode
from barnabas.inspection.log_check import LogCheck, LogState
from barnabas.inspection.log_listing import DUMPED_SUFFIXES
from barnabas.inspection.stats import StatsCollector
from barnabas.wire.records.batch import Codec, set_crc
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker
from barnabas.wire.records.crc import crc32c
from barnabas.wire.records.message_set import MessageSetBuilder


def _log() -> bytes:
    """A bit of everything."""
    parts = []
    for base_offset, codec in ((0, Codec.NONE), (3, Codec.GZIP), (6, Codec.SNAPPY)):
        builder = BatchBuilder(codec, 7, 0, 0, is_transactional=True)
        for number in range(3):
            builder.append(1_000 + number, b"\0\1key", b"\0\1value" * 5, (("h", b"x"),))
        parts.append(bytes(builder.build(base_offset, 1)))
    parts.append(bytes(build_marker(7, 0, EndTransactionMarker(MarkerType.ABORT, 0), 1_000, 9, 1)))
    for magic in (0, 1):
        messages = MessageSetBuilder(magic, Codec.LZ4)
        messages.append(10 + magic, 5, b"k", b"v")
        parts.append(bytes(messages.build()))
    return b"".join(parts)


_BODY = struct.pack(">i", 1) + struct.pack(">qhiqiqiq", 7, 0, 2, 2, 2, 5, 0, -1)
_FILES = {
    ".log": _log(),
    ".index": struct.pack(">iiii", 5, 150, 8, 300),
    ".timeindex": struct.pack(">qiqi", 1_002, 2, 1_003, 5),
    ".txnindex": struct.pack(">hqqqq", 0, 7, 0, 9, 10),
    ".snapshot": struct.pack(">hI", 1, crc32c(_BODY)) + _BODY,
}

_changes = st.lists(st.tuples(st.integers(0, 2_000), st.integers(0, 255)), max_size=6)


def _changed(data: bytes, changes: list[tuple[int, int]], cut: int, *, is_repaired: bool) -> bytes:
    changed = bytearray(data)
    for place, byte in changes:
        changed[place % len(changed)] = byte
    if is_repaired:
        # The first batch again gets past the CRC.
        (length,) = struct.unpack_from(">i", changed, 8)
        if 49 <= length <= len(changed) - 12:
            set_crc(changed, 0, length + 12)
    return bytes(changed[: len(changed) - cut % len(changed)])


@given(st.sampled_from(DUMPED_SUFFIXES), _changes, st.one_of(st.just(0), st.integers(0, 2_000)), st.booleans())
def test_no_bytes_are_too_odd(suffix: str, changes: list[tuple[int, int]], cut: int, is_repaired: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name, "t-0")
        directory.mkdir()
        for each, data in _FILES.items():
            if each == suffix:
                data = _changed(data, changes, cut, is_repaired=is_repaired and each == ".log")
            (directory / f"{0:020}{each}").write_bytes(data)
        for options in (
            DumpOptions(is_deep=True, decode=default_decode()),
            DumpOptions(is_deep=True, decode=decode_offsets_record),
            DumpOptions(is_deep=True, decode=decode_transaction_record),
            DumpOptions(is_index_sanity_only=True),
        ):
            lines: list[str] = []
            dump = LogDump(options, lines.append, lines.append)
            for path in sorted(directory.iterdir()):
                dump.dump(path)
            dump.finish()
        LogCheck(directory, LogState()).run()
        StatsCollector().add(TopicPartition("t", 0), directory)
