"""A log directory written by hand, file by file, for tests that break it."""

import struct
from pathlib import Path
from typing import Any

import pytest

from barnabas.inspection.findings import Kind, LogReport
from barnabas.inspection.log_check import LogCheck, LogState
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker
from barnabas.wire.records.crc import crc32c


def batch(
    base_offset: int, count: int = 2, *, timestamp_ms: int = 1_000, codec: Codec = Codec.NONE, **settings: Any
) -> bytes:
    builder = BatchBuilder(codec, **settings)
    for number in range(count):
        builder.append(timestamp_ms + number, b"k%d" % number, b"value")
    return bytes(builder.build(base_offset, leader_epoch=0))


def marker(offset: int, producer_id: int, kind: MarkerType) -> bytes:
    return bytes(build_marker(producer_id, 0, EndTransactionMarker(kind, 0), 1_000, offset, 0))


def snapshot(*entries: tuple[int, ...]) -> bytes:
    body = struct.pack(">i", len(entries)) + b"".join(struct.pack(">qhiqiqiq", *entry) for entry in entries)
    return struct.pack(">hI", 1, crc32c(body)) + body


class LogFiles:
    """The files of a log in a temporary directory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True)

    def write(self, offset: int, suffix: str, data: bytes) -> Path:
        path = self.path / f"{offset:020}{suffix}"
        path.write_bytes(data)
        return path

    def segment(self, base_offset: int, *batches: bytes) -> Path:
        """A segment with an index entry for each batch but the first."""
        position = len(batches[0]) if batches else 0
        entries, times = b"", b""
        for data in batches[1:]:
            (first_offset,), (delta,) = struct.unpack_from(">q", data), struct.unpack_from(">i", data, 23)
            timestamp_ms = max(struct.unpack_from(">q", each, 35)[0] for each in batches[: batches.index(data) + 1])
            entries += struct.pack(">ii", first_offset + delta - base_offset, position)
            if not times or timestamp_ms > struct.unpack_from(">q", times, len(times) - 12)[0]:
                times += struct.pack(">qi", timestamp_ms, first_offset + delta - base_offset)
            position += len(data)
        self.write(base_offset, ".index", entries)
        self.write(base_offset, ".timeindex", times)
        return self.write(base_offset, ".log", b"".join(batches))

    def epochs(self, text: str = "0\n1\n0 0\n") -> None:
        (self.path / "leader-epoch-checkpoint").write_text(text)

    def check(self, **state: Any) -> LogReport:
        return LogCheck(self.path, LogState(**state)).run()

    def damage(self, **state: object) -> list[str]:
        """What is damaged, file by file."""
        return texts(self.check(**state), Kind.DAMAGE)

    def recovery(self, **state: object) -> list[str]:
        return texts(self.check(**state), Kind.RECOVERY)


def texts(report: LogReport, kind: Kind) -> list[str]:
    return [f"{finding.path.name}: {finding.text}" for finding in report.findings if finding.kind is kind]


@pytest.fixture
def log_files(tmp_path: Path) -> LogFiles:
    return LogFiles(tmp_path / "t-0")


@pytest.fixture
def two_segments(log_files: LogFiles) -> LogFiles:
    """Offsets 0 to 7 in two segments, nothing wrong with them."""
    log_files.segment(0, batch(0), batch(2, timestamp_ms=2_000))
    log_files.segment(4, batch(4, timestamp_ms=3_000), batch(6, timestamp_ms=4_000))
    log_files.epochs()
    return log_files
