"""What each broker of a cluster has on its disk of a partition, and whether it is the same everywhere."""

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from barnabas.wire.records.batch import BatchHeader
from barnabas.wire.records.formats import batches_of_any_magic, read_any_header
from tests.patience import PATIENCE_S
from tests.simulation.checker import Replica
from tests.simulation.replica_logs import RealDisk, entries_of


class StoredBatch(NamedTuple):
    """What a batch of a log, or a message of an old format, says of itself; the CRC stands for all that is in it."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    crc: int


def stored_batches(data_dir: Path, topic: str, partition: int) -> list[StoredBatch]:
    """Return the batches of a partition in order, whatever segments they are in. The last one may be half there."""
    found = []
    for segment in sorted((data_dir / f"{topic}-{partition}").glob("*.log")):
        for batch in batches_of_any_magic(memoryview(segment.read_bytes())):
            header = read_any_header(batch)
            begin, epoch = header.last_offset, -1
            if isinstance(header, BatchHeader):
                begin, epoch = header.base_offset, header.leader_epoch
            found.append(StoredBatch(begin, header.last_offset, epoch, header.crc))
    return found


def stored_replicas(data_dirs: Mapping[int, Path], topics: Iterable[str], partition_count: int) -> list[Replica]:
    """Return what all brokers hold of topics, for who judges it as simulated histories are."""
    found = []
    for broker_id, path in data_dirs.items():
        for name in (f"{topic}-{index}" for topic in topics for index in range(partition_count)):
            entries = entries_of(RealDisk(), path / name, 0)
            end = entries[-1].offset + 1 if entries else 0
            found.append(Replica(broker_id, name, end, 0, end, entries))
    return found


def wait_for_equal_replicas(data_dirs: Mapping[int, Path], topic: str, partition_count: int) -> None:
    """Wait until all brokers hold the same batches at the same offsets; fail with the first place where they don't."""
    deadline = time.monotonic() + PATIENCE_S
    for partition in range(partition_count):
        while True:
            logs = {broker: stored_batches(path, topic, partition) for broker, path in data_dirs.items()}
            first = next(iter(logs.values()))
            if all(log == first for log in logs.values()):
                break
            if time.monotonic() > deadline:
                raise AssertionError(f"{topic}-{partition}: {_difference(logs)}")
            time.sleep(0.1)


def _difference(logs: Mapping[int, list[StoredBatch]]) -> str:
    least = min(map(len, logs.values()))
    for index in range(least):
        if len({log[index] for log in logs.values()}) > 1:
            return ", ".join(f"broker {broker} has {log[index]}" for broker, log in logs.items())
    return ", ".join(f"broker {broker} has {len(log)} batches" for broker, log in logs.items())
