"""Searches: each reads with its user's connections, and checks records in its own process.

A search ends when all records are read, when `MOST_HITS` are found, when it is stopped, after a minute without viewers,
or with its session.
"""

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from enum import Enum
from typing import Final, NamedTuple

from barnabas.clients.admin_offsets import OffsetAdmin
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.types import TopicPartition
from barnabas.page.authentication.shares import first_to_go
from barnabas.page.messages.decoding import Shown
from barnabas.page.messages.reading import Fate, Span, batches_with_fates, named_right
from barnabas.page.messages.rows import Header, Row
from barnabas.page.messages.searcher import FATES, FRAME, MOST_HITS, Job
from barnabas.wire.records.batch import BatchHeader

MOST_AT_ONCE: Final = 4
MOST_OF_A_USER: Final = 2
_MOST_KEPT: Final = 10
_NOBODY_LOOKS_S: Final = 60.0
_FETCH_BYTES: Final = 4 << 20
_TURN_BYTES: Final = 4 << 20
_AHEAD_BYTES: Final = 8 << 20
_LONGEST_LINE: Final = 1 << 20

Batches = AsyncGenerator[tuple[BatchHeader, memoryview, Fate]]


class State(Enum):
    """The state of a search."""

    RUNNING = "is running"
    DONE = "is complete"
    FULL = f"has found {MOST_HITS} records, and stopped"
    STOPPED = "was stopped"
    FAILED = "failed"


class Progress(NamedTuple):
    """The progress of a search.

    Attributes:
        looked_at: Number of offsets read, of `total`.
        at_ms: The time of the last records read; with several partitions, the earliest.
        unreadable_count: Number of batches that could not be read.
        note: The reason why the search failed or stopped.
    """

    state: State
    looked_at: int
    total: int
    at_ms: int | None
    read_bytes: int
    unreadable_count: int
    note: str
    rows: tuple[Row, ...]


class Search:
    """A started search."""

    def __init__(
        self,
        admin: OffsetAdmin,
        job: Job,
        spans: Mapping[TopicPartition, Span],
        rate: int,
        *,
        is_committed: bool,
        closed: asyncio.Event,
    ) -> None:
        """Args:
        spans: The offsets to read of each partition.
        closed: Set when the session ends.
        rate: The most bytes per second to read; 0: no limit.
        """
        self._admin = admin
        self._job = job
        self._spans = {
            each: span._replace(end=min(span.end, span.stable)) if is_committed else span
            for each, span in spans.items()
        }
        self._rate = rate
        self._is_committed = is_committed
        self._rows: list[Row] = []
        self._looked_at = self._read_bytes = self._unreadable_count = 0
        self._at_ms: int | None = None
        self._state, self._note = State.RUNNING, ""
        self._seen_s = asyncio.get_running_loop().time()
        self._task = asyncio.create_task(self._run())
        self._watch = asyncio.create_task(self._end_with(closed))

    @property
    def is_running(self) -> bool:
        return not self._task.done()

    def look(self) -> Progress:
        """Return the progress, and keep the search alive."""
        self._seen_s = asyncio.get_running_loop().time()
        total = sum(each.end - self._job.starts[str(name.partition)] for name, each in self._spans.items())
        looked_at = total if self._state is State.DONE else self._looked_at
        return Progress(
            self._state, looked_at, total, self._at_ms, self._read_bytes, self._unreadable_count, self._note,
            tuple(self._rows),
        )  # fmt: skip

    async def stop(self, note: str = "") -> None:
        """Stop the search and its process."""
        if self.is_running:
            self._state, self._note = State.STOPPED, note
            self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _end_with(self, closed: asyncio.Event) -> None:
        await closed.wait()
        await self.stop("the session has ended")

    async def _run(self) -> None:
        command = [sys.executable, "-P", "-m", "barnabas.page.messages.searcher"]
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, limit=_LONGEST_LINE
            )
        except OSError as error:
            self._state, self._note = State.FAILED, f"its process cannot be started: {error.strerror}"
            return
        feeding = asyncio.create_task(self._feed(process))
        try:
            await self._listen(process)
            await self._settle(process, feeding)
        finally:
            feeding.cancel()
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            with suppress(asyncio.CancelledError, BarnabasError, OSError):
                await feeding
            self._watch.cancel()

    async def _settle(self, process: Process, feeding: "asyncio.Task[None]") -> None:
        """Set the final state."""
        code = await process.wait()
        if len(self._rows) >= MOST_HITS:
            self._state = State.FULL
        elif code:
            self._state = State.FAILED
            self._note = "its process ended: the records need more memory than a search may use"
        elif self._state is State.RUNNING:
            self._state = State.FAILED
            try:
                await feeding
                self._state = State.DONE
            except KafkaError as error:
                self._note = named_right(error, self._job.topic).message
            except BarnabasError as error:
                self._note = str(error)

    async def _listen(self, process: Process) -> None:
        """Receive the hits of the process."""
        assert process.stdout is not None
        async for line in process.stdout:
            told = json.loads(line)
            if "row" in told:
                self._rows.append(_row(*told["row"]))
            else:
                positions, self._at_ms, self._unreadable_count = told["progress"]
                self._looked_at = sum(max(at - self._job.starts[name], 0) for name, at in positions.items())

    async def _feed(self, process: Process) -> None:
        """Send records to the process, some of each partition in turn."""
        assert process.stdin is not None
        process.stdin.transport.set_write_buffer_limits(high=_AHEAD_BYTES)
        process.stdin.write(json.dumps(self._job._asdict()).encode() + b"\n")
        starts = self._job.starts
        waiting = {
            name.partition: batches_with_fates(
                self._admin, name, starts[str(name.partition)], span, min(_FETCH_BYTES, self._rate or _FETCH_BYTES)
            )
            for name, span in self._spans.items()
        }
        try:
            while waiting:
                for partition, batches in list(waiting.items()):
                    if not await self._feed_some(process, partition, batches):
                        del waiting[partition]
        except (BrokenPipeError, ConnectionResetError):
            # The process has enough hits, or has ended.
            pass
        finally:
            process.stdin.close()

    async def _feed_some(self, process: Process, partition: int, batches: Batches) -> bool:
        """Send a partition's next batches; return False at the end of the partition."""
        assert process.stdin is not None
        turn_end = self._read_bytes + _TURN_BYTES
        async for _, batch, fate in batches:
            self._read_bytes += len(batch)
            if fate is not Fate.MARKER and (not self._is_committed or fate in (Fate.NONE, Fate.COMMITTED)):
                # A transaction that was open at the time of the read may have ended by now.
                shown = Fate.UNKNOWN if fate is Fate.OPEN else fate
                process.stdin.write(FRAME.pack(FATES.index(shown), partition, len(batch)))
                process.stdin.write(batch)
                await process.stdin.drain()
            await self._rest(len(batch))
            if self._read_bytes >= turn_end:
                return True
        return False

    async def _rest(self, size: int) -> None:
        """Limit the read rate, and pause without viewers."""
        if asyncio.get_running_loop().time() - self._seen_s > _NOBODY_LOOKS_S:
            self._state, self._note = State.STOPPED, "it had no viewer for a minute"
            raise BrokenPipeError
        if self._rate:
            await asyncio.sleep(size / self._rate)


def _row(
    partition: int, offset: int, timestamp_ms: int, fate: str, key: list[object], value: list[object],
    headers: list[tuple[str, list[object]]], header_count: int,
) -> Row:  # fmt: skip
    """Build a row from its JSON form."""
    shown = tuple(Header(name, Shown._make(each)) for name, each in headers)
    return Row(partition, offset, timestamp_ms, Fate(fate), Shown._make(key), Shown._make(value), shown, header_count)


Key = tuple[str, str, tuple[tuple[str, str], ...]]


class Searches:
    """All searches of a page, by cluster, user and query."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Key, Search] = OrderedDict()

    def get(self, key: Key) -> Search | None:
        """Return an existing search."""
        return self._kept.get(key)

    def is_full_for(self, key: Key) -> bool:
        """Return whether the user has reached the limit of running searches."""
        running = [each for each, search in self._kept.items() if search.is_running]
        return len(running) >= MOST_AT_ONCE or sum(each[:2] == key[:2] for each in running) >= MOST_OF_A_USER

    def keep(self, key: Key, search: Search) -> None:
        """Add a search; above the limit, the user with the most ended searches loses the oldest one."""
        ended = {each: each[:2] for each, kept in self._kept.items() if not kept.is_running}
        if len(self._kept) >= _MOST_KEPT and ended:
            del self._kept[first_to_go(ended, key[:2])]
        self._kept[key] = search

    async def close(self) -> None:
        """Stop all searches."""
        for each in list(self._kept.values()):
            await each.stop()
