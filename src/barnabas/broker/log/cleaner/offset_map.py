"""The newest offset of each key in the dirty part of a log, in bounded memory.

It begins as a dict of the keys themselves, which is fastest. When the dict may use more than a quarter of the memory
limit, it becomes a hash table. The table has room for as many keys as Kafka's with the same
log.cleaner.dedupe.buffer.size.

A slot of that table, 24 bytes in native byte order:

    uint64  Python's hash of the key, whose seed is random and secret
    uint32  the key's CRC-32C
    uint32  its length
    uint64  offset + 1; 0 if the slot is free

Invariants: memory stays below the limit, except for an extra quarter of it during the change to the table and for
`survivors`; the largest offset that was put is known; after a key that does not fit, no more keys are put.

# differs from Kafka (keys-by-hash): Kafka identifies keys by their MD5, for which collisions can be constructed.

Source: design page, log compaction; log-format facts, cleaner; benchmarks/micro/test_cleaner.py.
"""

import mmap
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from barnabas.wire.records.crc import crc32c

SLOT_BYTES = 24

_DICT_SHARE = 4
# A dict entry with its share of the free entries, the offset, and a bytes object without its contents.
_DICT_ENTRY_BYTES = 160
_MASK = 2**64 - 1
_SLICE_SLOTS = 100_000

Key = bytes | None


class HashTable:
    """Hash table with open addressing and double hashing, in memory that the system allocates page by page.

    Attributes:
        count: Number of keys.
    """

    __slots__ = ("_slot_count", "_view", "count")

    def __init__(self, slot_count: int) -> None:
        """Args:
        slot_count: A prime, so that every step size visits all slots.
        """
        self._slot_count = slot_count
        self._view = memoryview(mmap.mmap(-1, slot_count * SLOT_BYTES)).cast("Q")
        self.count = 0

    def put_all(self, keys: Sequence[Key], offsets: Sequence[int], capacity: int) -> int:
        """Set the offsets of keys until there are `capacity` keys; null keys are skipped.

        Args:
            keys: The keys.
            offsets: Their offsets.
            capacity: The maximum number of keys in the table, below the number of slots.

        Returns:
            The number of keys that were set or skipped.
        """
        # hot path: benchmarks/micro/test_cleaner.py
        view, slot_count = self._view, self._slot_count
        for index, key in enumerate(keys):
            if key is None:
                continue
            if self.count >= capacity:
                return index
            first, second = hash(key) & _MASK, crc32c(key) << 32 | len(key) & 0xFFFFFFFF
            slot = first % slot_count
            place = slot * 3
            while view[place] != first or view[place + 1] != second:
                if not view[place + 2]:
                    view[place], view[place + 1] = first, second
                    break
                slot = (slot + second % (slot_count - 1) + 1) % slot_count
                place = slot * 3
            if not view[place + 2]:
                self.count += 1
            view[place + 2] = offsets[index] + 1
        return len(keys)

    def get(self, key: Key, default: int, /) -> int:
        """Return a key's offset."""
        if key is None:
            return default
        view, slot_count = self._view, self._slot_count
        first, second = hash(key) & _MASK, crc32c(key) << 32 | len(key) & 0xFFFFFFFF
        slot = first % slot_count
        place = slot * 3
        while view[place + 2]:
            if view[place] == first and view[place + 1] == second:
                return view[place + 2] - 1
            slot = (slot + second % (slot_count - 1) + 1) % slot_count
            place = slot * 3
        return default

    def offsets(self) -> Iterator[int]:
        """Yield the offsets of all keys, in any order."""
        for start in range(0, self._slot_count * 3, _SLICE_SLOTS * 3):
            for number in self._view[start + 2 : start + _SLICE_SLOTS * 3 : 3].tolist():
                if number:
                    yield number - 1


class OffsetMap:
    """Keys with their newest offsets.

    Attributes:
        capacity: The maximum number of keys.
        latest_offset: The largest offset that was put or noted; -1 at first.
        get: Returns a key's offset, or the second argument if the key is unknown; `put_all` may replace it.
    """

    __slots__ = (
        "_dict",
        "_dict_bytes",
        "_most_dict_bytes",
        "_slot_count",
        "_table",
        "capacity",
        "get",
        "latest_offset",
    )

    def __init__(self, buffer_bytes: int, load_factor: float) -> None:
        """Args:
        buffer_bytes: Memory limit: log.cleaner.dedupe.buffer.size, divided by the number of threads.
        load_factor: Maximum share of the table's slots in use: log.cleaner.io.buffer.load.factor.
        """
        slot_count = max(buffer_bytes // SLOT_BYTES, 3)
        self._slot_count = _prime_up_to(slot_count)
        # At least one key, so that a round makes progress with any settings.
        self.capacity = max(min(int(slot_count * load_factor), self._slot_count - 1), 1)
        self._dict: dict[Key, int] = {}
        self._dict_bytes = 0
        self._most_dict_bytes = buffer_bytes // _DICT_SHARE
        self._table: HashTable | None = None
        self.latest_offset = -1
        self.get: Callable[[Key, int], int] = self._dict.get

    def __len__(self) -> int:
        return self._table.count if self._table is not None else len(self._dict)

    def survivors(self, start_offset: int) -> bytearray | None:
        """Mark the offsets from `start_offset` to the latest one that are the newest of their keys.

        Returns:
            A byte for each, 1 or 0; None if these bytes would exceed a quarter of the memory limit.
        """
        count = self.latest_offset + 1 - start_offset
        if count > self._most_dict_bytes:
            return None
        found = bytearray(max(count, 0))
        for offset in self._dict.values() if self._table is None else self._table.offsets():
            found[offset - start_offset] = 1
        return found

    def note_offset(self, offset: int) -> None:
        """Record that everything up to `offset` was read."""
        self.latest_offset = max(self.latest_offset, offset)

    def put_all(self, keys: Sequence[Key], offsets: Sequence[int]) -> bool:
        """Set the offsets of keys, which must ascend; null keys are skipped.

        Returns:
            Whether all keys fit; if not, `latest_offset` is the offset of the last key that did.
        """
        # hot path: benchmarks/micro/test_cleaner.py
        if self._table is not None:
            return self._put_in_table(self._table, keys, offsets)
        known = self._dict
        count = len(known)
        if count + len(keys) > self.capacity:
            return self._put_each(keys, offsets)
        known.update(zip(keys, offsets, strict=True))
        known.pop(None, None)
        new_count = len(known) - count
        if new_count:
            self._dict_bytes += new_count * _DICT_ENTRY_BYTES + sum(map(len, filter(None, keys)))
        if offsets:
            self.latest_offset = max(self.latest_offset, offsets[-1])
        if self._dict_bytes > self._most_dict_bytes:
            self._become_table()
        return True

    def _put_each(self, keys: Sequence[Key], offsets: Sequence[int]) -> bool:
        known = self._dict
        for key, offset in zip(keys, offsets, strict=True):
            if key is None:
                continue
            if len(known) >= self.capacity:
                return False
            known[key] = self.latest_offset = offset
        return True

    def _put_in_table(self, table: HashTable, keys: Sequence[Key], offsets: Sequence[int]) -> bool:
        done_count = table.put_all(keys, offsets, self.capacity)
        if done_count:
            self.latest_offset = max(self.latest_offset, offsets[done_count - 1])
        return done_count == len(keys)

    def _become_table(self) -> None:
        table = HashTable(self._slot_count)
        known = self._dict
        while known:
            # In batches, so that their memory is freed before all pages of the table are in use.
            keys = list(islice(reversed(known), 1000))
            table.put_all(keys, [known.pop(key) for key in keys], self.capacity)
        self._table = table
        self._dict = {}
        self.get = table.get


def _prime_up_to(number: int) -> int:
    while any(number % divisor == 0 for divisor in range(2, int(number**0.5) + 1)):
        number -= 1
    return number
