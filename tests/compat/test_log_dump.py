"""`barnabas log dump` prints what Kafka 2.7.2's DumpLogSegments prints, line for line, on files that Kafka wrote.

`barnabas log verify` finds no damage in them, and foresees what Kafka's own recovery leaves of a damaged one.
"""

import json
import shutil
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from barnabas.wire.protocol.messages.group_metadata_key import GroupMetadataKey
from barnabas.wire.protocol.messages.group_metadata_value import GroupMetadataValue, MemberMetadata
from barnabas.wire.protocol.wire import Message, WireBuffer
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.builder import BatchBuilder
from tests import commands
from tests.compat.log_samples import Samples, write_samples
from tests.patience import PATIENCE_S
from tools.kafka.java import run_tool
from tools.kafka.server import QuickKafkaServer

SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")


class Output(NamedTuple):
    stdout: list[str]
    stderr: list[str]


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Samples:
    return write_samples(tmp_path_factory.mktemp("samples"))


def kafka_dump(files: Sequence[Path], *options: str) -> Output:
    names = ",".join(map(str, files))
    result = run_tool("kafka.tools.DumpLogSegments", "--files", names, *options, timeout_s=PATIENCE_S)
    return Output(result.stdout.split("\n"), result.stderr.split("\n"))


def barnabas(*arguments: str, code: int = 0) -> Output:
    result = commands.run("log", *arguments)
    assert result.returncode == code, result.stderr
    return Output(result.stdout.split("\n"), result.stderr.split("\n"))


def check_same(files: Sequence[Path], *options: str) -> Output:
    ours = barnabas("dump", "--files", ",".join(map(str, files)), *options)
    theirs = kafka_dump(files, *options)
    assert ours.stdout == theirs.stdout
    assert ours.stderr == theirs.stderr
    return ours


def files_of(directory: Path, *, is_internal: bool | None = None, suffixes: tuple[str, ...] = SUFFIXES) -> list[Path]:
    """All files that can be dumped, but for the indexes of a full size beside an empty log: Kafka's tool ends there."""
    return [
        path
        for path in sorted(directory.rglob("*"))
        if path.suffix in suffixes
        and (is_internal is None or path.parent.name.startswith("__") == is_internal)
        and ("index" not in path.suffix or path.stat().st_size == 0 or path.with_suffix(".log").stat().st_size)
    ]


@pytest.mark.parametrize("state", ["clean", pytest.param("killed", marks=pytest.mark.whole)])
@pytest.mark.parametrize(
    "options", [(), ("--deep-iteration",), ("--print-data-log",), ("--verify-index-only",)], ids=" ".join
)
def test_all_files(samples: Samples, state: str, options: tuple[str, ...]) -> None:
    same = check_same(files_of(getattr(samples, state), is_internal=False), *options)
    assert any("magic: 0" in line for line in same.stdout)
    assert any("version: 0 producerId" in line for line in same.stdout)


@pytest.mark.parametrize("state", ["clean", "killed"])
def test_index_sanity(samples: Samples, state: str) -> None:
    # Kafka's tool ends at the first time index of full size.
    suffixes = SUFFIXES if state == "clean" else (".index",)
    same = check_same(files_of(getattr(samples, state), suffixes=suffixes), "--index-sanity-check")
    assert any(line.endswith("passed sanity check.") for line in same.stdout)


@pytest.mark.parametrize("state", ["clean", "killed"])
@pytest.mark.parametrize(
    ("topic", "decoder"),
    [("__consumer_offsets", "--offsets-decoder"), ("__transaction_state", "--transaction-log-decoder")],
)
def test_internal_topics(samples: Samples, state: str, topic: str, decoder: str) -> None:
    files = [path for path in files_of(getattr(samples, state)) if path.parent.name.startswith(topic)]
    same = check_same(files, decoder)
    assert any("payload: " in line for line in same.stdout)


def test_a_decoder_of_numbers(samples: Samples, tmp_path: Path) -> None:
    decoders = ("kafka.serializer.LongDecoder", "kafka.serializer.IntegerDecoder")
    log = write(tmp_path, batch([(b"\x00\x00\x00\x00\x00\x00\x00\x07", b"\xff\xff\xff\xfe"), (None, None)]))
    same = check_same([log], "--key-decoder-class", decoders[0], "--value-decoder-class", decoders[1])
    assert any("key: 7 payload: -2" in line for line in same.stdout)


def batch(pairs: Sequence[tuple[bytes | None, bytes | None]], base_offset: int = 0, **settings: int | bool) -> bytes:
    builder = BatchBuilder(Codec.NONE, **settings)  # type: ignore[arg-type]  # numbers and flags of the builder's
    for key, value in pairs:
        builder.append(1_000, key, value)
    return bytes(builder.build(base_offset, 3))


def write(directory: Path, data: bytes, suffix: str = ".log") -> Path:
    directory.mkdir(exist_ok=True)
    path = directory / f"{0:020}{suffix}"
    path.write_bytes(data)
    return path


def with_prefix(version: int, message: Message, prefix: int) -> bytes:
    out = WireBuffer(struct.pack(">h", prefix))
    message.encode(version, out)
    return bytes(out)


FIRST = batch([(b"k", b"v"), (None, b"two\nlines")])
SECOND = batch([(b"k", None)], base_offset=2)


ODD_LOGS = {
    "crc": FIRST + SECOND[:-3] + b"\xff" + SECOND[-2:],
    "cut": FIRST + SECOND[:40],
    "cut-in-head": FIRST + SECOND[:10],
    "zeros": FIRST + bytes(17),
    "gaps": FIRST + batch([(b"far", b"away")], base_offset=90) + batch([(b"back", b"again")], base_offset=5),
    "wrapped-sequence": batch([(b"s", b"s")] * 3, producer_id=5, producer_epoch=1, base_sequence=2_147_483_646),
    "unknown-control-type": batch([(struct.pack(">hh", 0, 5), b"x")], producer_id=5, producer_epoch=0, is_control=True),
}


def test_odd_logs(tmp_path: Path) -> None:
    same = check_same([write(tmp_path / name, data) for name, data in ODD_LOGS.items()], "--print-data-log")
    assert all(any(f"/{name}/" in line for line in same.stdout) for name in ODD_LOGS)


def test_odd_indexes(tmp_path: Path) -> None:
    files = []
    for number, (offset_entries, time_entries) in enumerate(
        [
            ([(2, len(FIRST))], [(1_000, 1)]),
            ([(3, len(FIRST))], [(999, 1), (1_000, 2)]),
            ([(2, len(FIRST)), (1, 0)], [(1_001, 1), (1_000, 2)]),
            ([(1, 0), (2, len(FIRST))], [(1_000, 7)]),
        ]
    ):
        place = tmp_path / str(number)
        write(place, FIRST + SECOND)
        files.append(write(place, b"".join(struct.pack(">ii", *entry) for entry in offset_entries), ".index"))
        files.append(write(place, b"".join(struct.pack(">qi", *entry) for entry in time_entries), ".timeindex"))
    check_same(files)


def test_unknown_files_are_passed_over(tmp_path: Path) -> None:
    check_same([write(tmp_path, b"", ".log.deleted"), write(tmp_path, FIRST)])


def test_groups_of_every_kind(tmp_path: Path) -> None:
    assignment = struct.pack(">hih1siii", 0, 1, 1, b"t", 1, 7, 2) + b"\x0a\xbc"
    members = [
        MemberMetadata(f"m-{number}", None, "client", "/host", 1, 2, b"", b"\x00\x0a\xff"[: number % 4])
        for number in range(20)
    ]
    consumers = [MemberMetadata(f"m-{number}", None, "c", "/h", 1, 2, b"", assignment) for number in range(2)]
    connect = GroupMetadataValue("connect", 3, "sessioned", "m-1", 5, members)
    consumer = GroupMetadataValue("consumer", 3, "", "m-1", 5, consumers)
    empty = GroupMetadataValue("", 3, None, None, 5, [])
    key = with_prefix(0, GroupMetadataKey('g"2\\ä\x01\x1f'), 2)
    pairs: list[tuple[bytes | None, bytes | None]] = [(key, with_prefix(3, connect, 3)), (key, None)]
    pairs += [(key, with_prefix(version, consumer, version)) for version in range(4)]
    pairs += [(key, with_prefix(3, empty, 3))]
    ours = barnabas("dump", str(write(tmp_path, batch(pairs))), "--offsets-decoder")
    # Kafka's coordinator code, which the tool borrows, complains of subscriptions that it can't read.
    assert ours.stdout == kafka_dump([tmp_path / f"{0:020}.log"], "--offsets-decoder").stdout


def verify(directory: Path, code: int = 0) -> dict[str, object]:
    (report,) = json.loads(barnabas("verify", str(directory), "--json", code=code).stdout[0])
    assert isinstance(report, dict)
    return report


@pytest.mark.parametrize("state", ["clean", "killed"])
def test_verify_finds_no_damage_in_what_kafka_wrote(samples: Samples, state: str) -> None:
    report = verify(getattr(samples, state))
    assert report["damage_count"] == 0
    assert report["was_clean"] == (state == "clean")


def test_verify_foresees_what_kafkas_recovery_does(samples: Samples, tmp_path: Path) -> None:
    server = QuickKafkaServer(tmp_path / "server")
    data_dir = server.data_dir
    names = ["v2-gzip-0", "v1-none-0", "v0-snappy-0", "transactions-0"]
    for name in names:
        shutil.copytree(samples.killed / name, data_dir / name)
        log = max((data_dir / name).glob("*.log"))
        data = bytearray(log.read_bytes())
        data[-len(data) // 3] ^= 0xFF
        log.write_bytes(data)
    logs = {log["log"]: log for log in _logs(verify(data_dir, code=1))}
    foreseen = {name: logs[name]["end_offset"] for name in names}
    assert all(logs[name]["damage_count"] for name in names)
    with server:
        server.stop()
    after = {log["log"]: log for log in _logs(verify(data_dir))}
    assert {name: after[name]["end_offset"] for name in names} == foreseen


def _logs(report: dict[str, object]) -> list[dict[str, object]]:
    logs = report["logs"]
    assert isinstance(logs, list)
    return logs
