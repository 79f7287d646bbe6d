"""Committed offsets of a group, in ZooKeeper and in Kafka, looked at again and again while a story is played."""

import contextlib
import threading
from collections.abc import Iterator

from tests.compat.old_consumers.judge import Commit, Partition
from tests.compat.old_consumers.member import now_ms
from tests.compat.old_consumers.site import Site


class OffsetWatch(threading.Thread):
    """Notes each change that it sees.

    Attributes:
        commits: In the order in which they were seen.
    """

    def __init__(self, site: Site, group: str) -> None:
        super().__init__(daemon=True)
        self.commits: list[Commit] = []
        self._site, self._group = site, group
        self._is_over = threading.Event()
        self._last: dict[tuple[str, Partition], int] = {}
        self._failure: BaseException | None = None
        self._looking = threading.Lock()

    @contextlib.contextmanager
    def blind(self) -> Iterator[None]:
        """It does not look for as long."""
        with self._looking:
            yield

    def run(self) -> None:
        try:
            while not self._is_over.wait(0.1):
                self.look()
        except BaseException as failure:
            self._failure = failure

    def look(self) -> None:
        """Note what is there now."""
        found = {}
        # A coordinator that was killed is looked at again when the brokers that are left know of it.
        with self._looking, contextlib.suppress(OSError):
            found["zookeeper"] = self._site.zookeeper_offsets(self._group)
            found["kafka"] = self._site.kafka_offsets(self._group)
        for store, offsets in found.items():
            seen_ms = now_ms()
            for partition, offset in offsets.items():
                if self._last.get((store, partition)) != offset:
                    self._last[store, partition] = offset
                    self.commits.append(Commit(store, partition, offset, seen_ms))

    def end(self) -> None:
        self._is_over.set()
        self.join()
        if self._failure is not None:
            raise self._failure
