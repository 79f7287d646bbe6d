"""The files door: one file of a broker's directory holds what the input says, and the broker opens it.

    byte 0: which file, in the order of their names | byte 1, lowest bit: the stop before was clean | what it holds

The directory is checked as by `barnabas log verify`, its logs are opened (and recovered), read from each offset by new
and old clients, and closed; or, where the file is the registry's, that is opened. What a broker may say of a damaged
file is a `BarnabasError` or an error code.
"""

import asyncio
import logging
import shutil
import tempfile
import time
from itertools import product
from pathlib import Path

from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.core.clock import SystemClock
from barnabas.core.errors import BarnabasError
from barnabas.core.executor import InlineExecutor
from barnabas.core.types import TopicPartition
from barnabas.inspection.directory_check import DirectoryCheck
from barnabas.wire.records.batch import Codec
from barnabas.wire.records.builder import BatchBuilder
from barnabas.wire.records.control import EndTransactionMarker, MarkerType, build_marker
from barnabas.wire.records.message_set import MessageSetBuilder
from tests.fuzz.doors import MOST_STALL_S, WrongError
from tests.unit.broker.requests.conftest import DataPath

_CLEAN = ".kafka_cleanshutdown"
_REGISTRY = "registry.sqlite"
_MEMORY = Path("/dev/shm")
_TOPIC = "t"
_VERSIONS = (2, 11)


class FilesDoor:
    """Used as a function of an input."""

    def __init__(self) -> None:
        # What is damaged is told, each time.
        logging.disable(logging.CRITICAL)
        root = _MEMORY if _MEMORY.is_dir() else None
        self._root = Path(tempfile.mkdtemp(prefix="barnabas-fuzz-", dir=root))
        self._template, self._work = self._root / "template", self._root / "work"
        self._next_offset = _fill(self._template)
        names = [path.relative_to(self._template) for path in self._template.rglob("*") if path.is_file()]
        self._names = sorted(name for name in names if name.name not in {".lock", _CLEAN})

    @property
    def seeds(self) -> list[bytes]:
        """Each file as it was written."""
        contents = [(self._template / name).read_bytes() for name in self._names]
        return [bytes((number, clean)) + data for number, data in enumerate(contents) for clean in (0, 1)]

    def __call__(self, data: bytes) -> None:
        """Open a directory in which one file is the input's.

        Raises:
            WrongError: It took too long.
            Exception: Anything else than what may be said of a damaged file.
        """
        if len(data) < 2:
            return
        name = self._names[data[0] % len(self._names)]
        shutil.rmtree(self._work, ignore_errors=True)
        shutil.copytree(self._template, self._work)
        (self._work / name).write_bytes(data[2:])
        if not data[1] & 1:
            (self._work / _CLEAN).unlink(missing_ok=True)
        started_s = time.thread_time()
        try:
            if name.name == _REGISTRY:
                asyncio.run(_open_registry(self._work / name))
            else:
                DirectoryCheck(self._work).run()
                self._open_logs()
        except BarnabasError:
            pass
        computed_s = time.thread_time() - started_s
        if computed_s > 2 * MOST_STALL_S:
            raise WrongError(f"{name}: computed for {computed_s:.3f} s")

    def close(self) -> None:
        """Remove the directories."""
        logging.disable(logging.NOTSET)
        shutil.rmtree(self._root, ignore_errors=True)

    def _open_logs(self) -> None:
        data_path = DataPath(self._work)
        try:
            # Else the directory or the partition was given up for what the file holds.
            if not data_path.errors and not data_path.leadership(_TOPIC):
                for version, offset in product(_VERSIONS, (0, self._next_offset // 2)):
                    data_path.fetch(_TOPIC, offset, version)
                for timestamp in (-2, -1, 1, data_path.clock.now_ms()):
                    data_path.list_offsets(_TOPIC, timestamp)
        finally:
            data_path.stop()
        wrong = [error for error in data_path.errors if not isinstance(error, BarnabasError)]
        if wrong:
            raise wrong[0]


def _fill(directory: Path) -> int:
    """Write a log of some segments, formats, codecs and transactions, and a registry; the log's end."""
    directory.mkdir()
    data_path = DataPath(directory)
    data_path.create(_TOPIC, segment_bytes=700, index_interval_bytes=1)
    for number, codec in enumerate((Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)):
        builder = BatchBuilder(codec, producer_id=7, producer_epoch=0, base_sequence=number * 2, is_transactional=True)
        for each in range(2):
            builder.append(data_path.clock.now_ms() + each, b"key", b"value" * 20, (("header", b"of"),))
        data_path.produce(_TOPIC, bytes(builder.build()))
    marker = build_marker(7, 0, EndTransactionMarker(MarkerType.ABORT, 0), data_path.clock.now_ms())
    data_path.replicas.append(TopicPartition(_TOPIC, 0), marker, 1, 1_000)
    old = MessageSetBuilder(1)
    old.append(0, data_path.clock.now_ms(), b"key", b"value" * 20)
    data_path.produce(_TOPIC, bytes(old.build()), version=2)
    end: int = data_path.log(_TOPIC).log_end_offset
    data_path.stop()
    asyncio.run(_open_registry(directory / _REGISTRY))
    return end


async def _open_registry(path: Path) -> None:
    registry = await EmbeddedRegistry.open(path, SystemClock(), InlineExecutor())
    try:
        for parent, name in (("/", "brokers"), ("/brokers", "topics")):
            if name not in await registry.children(parent):
                await registry.create(f"{parent.rstrip('/')}/{name}", b"{}")
    finally:
        await registry.close()
