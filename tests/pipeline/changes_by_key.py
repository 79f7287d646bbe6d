"""A topic of changes to rows by key, and the rows that a table by key must hold in the end.

What the rows are is told in plain Python from the topic's records, not by the rules that the pipeline has.
"""

import json
import random
from collections.abc import Iterator
from typing import NamedTuple

from tests.pipeline.site import Site
from tests.spark import connector_options

RECORD_COUNT = 6_000
# Records of a key: about ten.
_KEY_COUNT = 600
_TOMBSTONE_SHARE = 0.25
_LATER_PARTITION = 2


class Change(NamedTuple):
    """A record of the topic; `n` is None for a tombstone."""

    key: str
    n: int | None
    partition: int
    offset: int
    time: object

    @property
    def order(self) -> tuple[object, int, int]:
        """What tells which of two records of a key in two partitions is the later one."""
        return self.time, self.partition, self.offset


def send_changes(site: Site, topic: str, chance: random.Random) -> None:
    """Create a topic of three partitions, and fill it as one of two that was given its third in the middle.

    A third of the keys moves there. It has no tombstones after that: a table that keeps no deleted rows would take the
    older records of such a key, which it may read later, for new ones (docs/pipeline/load.md).
    """
    site.create(topic, _LATER_PARTITION + 1)
    numbers = iter(range(RECORD_COUNT))
    for has_third in (False, True):
        sent: dict[int, list[tuple[bytes, bytes | None]]] = {0: [], 1: [], 2: []}
        for _ in range(RECORD_COUNT // 2):
            number, key = next(numbers), chance.randrange(_KEY_COUNT)
            is_moved = has_third and key % 3 == _LATER_PARTITION
            is_tombstone = chance.random() < _TOMBSTONE_SHARE and not is_moved
            value = None if is_tombstone else json.dumps({"n": number}).encode()
            sent[_LATER_PARTITION if is_moved else key % 2].append((f"k{key}".encode(), value))
        for partition, records in sent.items():
            site.send(topic, records, partition)


def latest_rows(site: Site, topic: str, keeps_deleted: bool) -> list[tuple[object, ...]]:
    """Return the rows of a table by key that has read all of the topic: `_key`, `n`, `_partition`, `_offset`.

    With `keeps_deleted` those of deleted keys, too, as they were before their tombstones, and `_deleted` behind.
    """
    changes: dict[str, list[Change]] = {}
    for change in _changes(site, topic):
        changes.setdefault(change.key, []).append(change)
    rows: list[tuple[object, ...]] = []
    for key, found in changes.items():
        last, alive = _last(found), _last([change for change in found if change.n is not None])
        if alive is not None and last is not None and (keeps_deleted or last.n is not None):
            is_deleted = (last.n is None,) if keeps_deleted else ()
            rows.append((key, alive.n, last.partition, last.offset, *is_deleted))
    return rows


def _last(changes: list[Change]) -> Change | None:
    of_partitions = [
        max((change for change in changes if change.partition == partition), key=lambda change: change.offset)
        for partition in {change.partition for change in changes}
    ]
    return max(of_partitions, key=lambda change: change.order, default=None)


def _changes(site: Site, topic: str) -> Iterator[Change]:
    records = (
        site.spark.read.format("kafka")
        .options(**connector_options(site.kafka))
        .options(subscribe=topic, startingOffsets="earliest")
        .load()
    )
    for row in records.select("key", "value", "partition", "offset", "timestamp").collect():
        n = None if row["value"] is None else json.loads(bytes(row["value"]))["n"]
        yield Change(bytes(row["key"]).decode(), n, row["partition"], row["offset"], row["timestamp"])
