"""The process of one search: receives batches and returns matching records. It has no connection to the cluster.

Its memory is limited, so that a decompression bomb affects only this search. It exits at the end of its standard input,
and so when the page exits.

    in    one line of JSON: `Job`; then for each batch
          uint8 fate (its index in `Fate`) | int32 partition | uint32 size | the batch
    out   lines of JSON: {"row": ...}, {"progress": ...}
"""

import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from struct import Struct
from typing import BinaryIO, Final, NamedTuple

from barnabas.core.internal_topics import INTERNAL_TOPICS
from barnabas.page.messages.conditions import Condition
from barnabas.page.messages.criteria import Criteria
from barnabas.page.messages.masks import masked, parse_mask
from barnabas.page.messages.reading import Fate
from barnabas.page.messages.rows import RecordFormat
from barnabas.wire.records.batch import BatchHeader, read_header
from barnabas.wire.records.errors import CorruptRecordsError
from barnabas.wire.records.record import Record, iterate_payload, read_payload

FRAME: Final = Struct(">BiI")
FATES: Final = tuple(Fate)
MOST_HITS: Final = 200
MOST_MEMORY_BYTES: Final = 512 << 20
_MOST_UNPACKED_BYTES: Final = 64 << 20
_TELLS_EACH_S: Final = 0.2
_NICE: Final = 5


class Job(NamedTuple):
    """The criteria of a search, sent as JSON.

    Attributes:
        masks: In the format of `--mask`.
        keys: In hexadecimal.
        conditions: Path, comparison, operand.
        starts: The first offset of each partition.
    """

    topic: str
    masks: tuple[str, ...]
    key_as: str
    value_as: str
    keys: tuple[str, ...]
    header: str
    text: str
    conditions: tuple[tuple[tuple[str, ...], str, str], ...]
    starts: dict[str, int]


class _Searcher:
    def __init__(self, job: Job, out: BinaryIO) -> None:
        self._format = RecordFormat(job.topic, tuple(map(parse_mask, job.masks)), job.key_as, job.value_as)
        conditions = tuple(Condition(tuple(path), *rest) for path, *rest in job.conditions)
        self._criteria = Criteria(tuple(map(bytes.fromhex, job.keys)), job.header, job.text, conditions)
        self._is_internal = job.topic in INTERNAL_TOPICS
        self._starts = {int(name): offset for name, offset in job.starts.items()}
        self._out = out
        self._told_s = 0.0
        self._positions: dict[int, int] = {}
        self._times_ms: dict[int, int] = {}
        self._unreadable_count = 0
        self.hit_count = 0

    def take(self, partition: int, fate: Fate, batch: memoryview) -> None:
        """Search a batch."""
        header = read_header(batch)
        try:
            for record in self._records(partition, header, batch):
                self._tell({"row": self._format.row_of_masked(partition, record, fate)})
                self.hit_count += 1
                if self.hit_count >= MOST_HITS:
                    break
        except (CorruptRecordsError, MemoryError):
            self._unreadable_count += 1
        self._positions[partition] = header.last_offset + 1
        self._times_ms[partition] = header.max_timestamp_ms
        if time.monotonic() - self._told_s >= _TELLS_EACH_S:
            self.tell_progress()

    def tell_progress(self) -> None:
        """Report the progress."""
        self._told_s = time.monotonic()
        told = [self._positions, min(self._times_ms.values(), default=None), self._unreadable_count]
        self._tell({"progress": told})
        self._out.flush()

    def _records(self, partition: int, header: BatchHeader, batch: memoryview) -> Iterator[Record]:
        payload = read_payload(batch, header, _MOST_UNPACKED_BYTES)
        masks, criteria, start = self._format.masks, self._criteria, self._starts[partition]
        if not masks and not self._is_internal and not criteria.may_be_in(payload):
            return
        for record in iterate_payload(payload, header):
            seen = masked(record, masks) if masks else record
            if record.offset >= start and (self._fits_internal(seen) if self._is_internal else criteria.fits(seen)):
                yield seen

    def _fits_internal(self, record: Record) -> bool:
        """Return whether the text of an internal topic's record matches."""
        row = self._format.row_of_masked(0, record, Fate.NONE)
        texts = record._replace(
            key=row.key.text.encode(errors="replace"), value=row.value.text.encode(errors="replace")
        )
        return self._criteria.fits(texts)

    def _tell(self, told: dict[str, object]) -> None:
        self._out.write(json.dumps(told, default=lambda fate: fate.value).encode() + b"\n")


def main() -> None:
    """Search the batches on standard input."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(_NICE)
    source = sys.stdin.buffer
    searcher = _Searcher(Job(**json.loads(source.readline())), sys.stdout.buffer)
    while len(head := source.read(FRAME.size)) == FRAME.size and searcher.hit_count < MOST_HITS:
        fate, partition, size = FRAME.unpack(head)
        searcher.take(partition, FATES[fate], memoryview(source.read(size)))
    searcher.tell_progress()


if __name__ == "__main__":
    main()
