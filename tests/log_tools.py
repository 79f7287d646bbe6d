"""What tools that read logs say of all brokers' directories: Kafka's DumpLogSegments, and `barnabas log verify`."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.commands import run
from tests.patience import PATIENCE_S
from tools.kafka.java import run_tool


def differences_of_dumps(data_dirs: Mapping[int, Path], topics: Iterable[str]) -> list[str]:
    """Return of which partitions Kafka's tool prints something else of each replica, batch by batch and record by
    record.
    """
    wrong = []
    for topic in topics:
        dumps = {broker_id: _dumped(path, topic) for broker_id, path in data_dirs.items()}
        first = next(iter(dumps.values()))
        assert first, f"{topic} has no partition"
        for partition in sorted({name for dump in dumps.values() for name in dump}):
            if not first.get(partition) or any(dump.get(partition) != first[partition] for dump in dumps.values()):
                counts = {broker_id: len(dump.get(partition, ())) for broker_id, dump in dumps.items()}
                wrong.append(f"{partition}: DumpLogSegments prints lines that differ, of each broker {counts}")
    return wrong


def damages(data_dirs: Mapping[int, Path]) -> list[str]:
    """Return what `barnabas log verify` has to say against directories of brokers."""
    verified = {broker_id: run("log", "verify", path) for broker_id, path in data_dirs.items()}
    return [
        f"broker {broker_id}: {each.stdout}{each.stderr}" for broker_id, each in verified.items() if each.returncode
    ]


def _dumped(data_dir: Path, topic: str) -> dict[str, list[str]]:
    """Return what is printed of each partition of a broker."""
    files = sorted(data_dir.glob(f"{topic}-[0-9]*/*.log"))
    names = ",".join(map(str, files))
    dumped = run_tool("kafka.tools.DumpLogSegments", "--files", names, "--print-data-log", timeout_s=PATIENCE_S)
    assert dumped.returncode == 0, dumped.stderr
    found: dict[str, list[str]] = defaultdict(list)
    partition = ""
    for line in dumped.stdout.splitlines():
        if line.startswith("Dumping "):
            partition = Path(line.removeprefix("Dumping ")).parent.name
        elif not line.startswith("Starting offset: "):
            # Where a segment ends is each replica's own affair.
            found[partition].append(re.sub(r" position: \d+", "", line))
    return found
