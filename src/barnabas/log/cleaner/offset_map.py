"""The newest offset of each key in the dirty part of a log, in bounded memory.

It begins as a dict of the keys themselves, which is fastest. Once that may take a quarter of the memory allowed it
becomes a table of hashes, which holds as many keys as Kafka's in the same log.cleaner.dedupe.buffer.size.

A slot of that table, 24 bytes: two halves of a 128-bit hash of the key, offset + 1 (0: the slot is free).

Invariants: memory stays below the limit, but for the quarter while the one becomes the other; the largest offset that
was put is known; once a key does not fit nothing is put any more.

Source: design page, log compaction; log-format facts, cleaner; benchmarks/micro/test_cleaner.py.
"""

import mmap
from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import islice
from struct import Struct

SLOT_BYTES = 24

_DICT_SHARE = 4
# A dict's entry with its share of the free ones, the offset, and a bytes object without its bytes.
_DICT_ENTRY_BYTES = 160
_HALVES = Struct("=QQ").unpack

Key = bytes | None


class HashTable:
    """Open addressing with double hashing in memory that the system hands out page by page."""

    __slots__ = ("_slot_count", "_view")

    def __init__(self, slot_count: int) -> None:
        """Args:
        slot_count: A prime, so that every step goes round all slots.
        """
        self._slot_count = slot_count
        self._view = memoryview(mmap.mmap(-1, slot_count * SLOT_BYTES)).cast("Q")

    def put(self, key: bytes, offset: int) -> bool:
        """Set a key's offset; whether the key is new. There must be a free slot."""
        slot, first, second = self._find(key)
        is_new = not self._view[slot + 2]
        if is_new:
            self._view[slot], self._view[slot + 1] = first, second
        self._view[slot + 2] = offset + 1
        return is_new

    def get(self, key: Key, default: int, /) -> int:
        """A key's offset."""
        if key is None:
            return default
        slot, _, _ = self._find(key)
        return (self._view[slot + 2] or default + 1) - 1

    def _find(self, key: bytes) -> tuple[int, int, int]:
        """The place of the key's slot, or of the free one where it belongs, and the key's hash."""
        view, slot_count = self._view, self._slot_count
        first, second = _HALVES(blake2b(key, digest_size=16).digest())
        slot = first % slot_count
        step = second % (slot_count - 1) + 1
        while True:
            place = slot * 3
            if not view[place + 2] or (view[place] == first and view[place + 1] == second):
                return place, first, second
            slot = (slot + step) % slot_count


class OffsetMap:
    """Keys with their newest offsets.

    Attributes:
        capacity: How many keys it takes.
        latest_offset: The largest offset that was put or noted; -1 when there is none.
        get: A key's offset, or the second argument; changes with every `put_all`.
    """

    __slots__ = (
        "_dict",
        "_dict_bytes",
        "_most_dict_bytes",
        "_slot_count",
        "_table",
        "_table_count",
        "capacity",
        "get",
        "latest_offset",
    )

    def __init__(self, buffer_bytes: int, load_factor: float) -> None:
        """Args:
        buffer_bytes: What it may take: log.cleaner.dedupe.buffer.size, divided among the threads.
        load_factor: How full a table may be: log.cleaner.io.buffer.load.factor.
        """
        slot_count = max(buffer_bytes // SLOT_BYTES, 3)
        self._slot_count = _prime_up_to(slot_count)
        # A round must get on, whatever the settings say.
        self.capacity = max(min(int(slot_count * load_factor), self._slot_count - 1), 1)
        self._dict: dict[Key, int] = {}
        self._dict_bytes = 0
        self._most_dict_bytes = buffer_bytes // _DICT_SHARE
        self._table: HashTable | None = None
        self._table_count = 0
        self.latest_offset = -1
        self.get: Callable[[Key, int], int] = self._dict.get

    def __len__(self) -> int:
        return self._table_count if self._table is not None else len(self._dict)

    def note_offset(self, offset: int) -> None:
        """Note that everything up to `offset` was looked at."""
        self.latest_offset = max(self.latest_offset, offset)

    def put_all(self, keys: Sequence[Key], offsets: Sequence[int]) -> bool:
        """Set the offsets of keys, which ascend; null keys are left out.

        Returns:
            Whether all of them fit; if not, `latest_offset` is that of the last one that did.
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
        for key, offset in zip(keys, offsets, strict=True):
            if key is None:
                continue
            if self._table_count >= self.capacity:
                return False
            self._table_count += table.put(key, offset)
            self.latest_offset = offset
        return True

    def _become_table(self) -> None:
        table = HashTable(self._slot_count)
        known = self._dict
        while known:
            # Some at a time, so that their memory is free before all the table's pages are in use.
            for key in list(islice(reversed(known), 1000)):
                offset = known.pop(key)
                if key is not None:
                    self._table_count += table.put(key, offset)
        self._table = table
        self._dict = {}
        self.get = table.get


def _prime_up_to(number: int) -> int:
    while any(number % divisor == 0 for divisor in range(2, int(number**0.5) + 1)):
        number -= 1
    return number
