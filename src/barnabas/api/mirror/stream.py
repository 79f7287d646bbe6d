"""One thread that copies: takes, sends, and commits what was acknowledged.

    take ─► send ... ─► every commit interval: drain ─► commit
    stop: drain (bounded) ─► commit ─► leave the group

Invariant: offsets are committed behind messages that the target has acknowledged, and behind no others. What was sent
and not committed when the process is killed is sent again: at least once.

Source: operations documentation, mirroring data between clusters.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

from barnabas.api.mirror.errors import MirrorError
from barnabas.api.mirror.source import Source
from barnabas.api.mirror.target import Target
from barnabas.core.errors import BarnabasError

_TAKE_S: Final = 0.2
_DRAIN_S: Final = 30.0

OpenSource = Callable[[Callable[[], bool]], Source]
"""Makes a stream's source; it is given what waits until the target has acknowledged all, and tells whether it has."""


class Stream:
    """A thread, its source and its target.

    Attributes:
        failure: What ended it; None: it runs, or was stopped.
        could_commit: False: it ended, and the target had not acknowledged everything by then.
    """

    def __init__(
        self,
        name: str,
        open_source: OpenSource,
        target: Target,
        commit_interval_s: float,
        stopped: threading.Event,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args:
        name: Of the thread.
        open_source: Called in the thread.
        target: The stream's own.
        commit_interval_s: Seconds between commits.
        stopped: Ends it.
        clock: Seconds that never go back.
        """
        self.failure: BarnabasError | None = None
        self.could_commit = True
        self.target = target
        self._open_source = open_source
        self._commit_interval_s = commit_interval_s
        self._stopped = stopped
        self._clock = clock
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def join(self, timeout_s: float | None = None) -> None:
        """Wait until the thread has ended."""
        self._thread.join(timeout_s)

    def _run(self) -> None:
        try:
            source = self._open_source(lambda: self.target.drain(_DRAIN_S))
            try:
                self._copy(source)
            finally:
                source.close()
        except BarnabasError as error:
            self.failure = error
        except Exception as error:
            # A bug of ours must not end a thread in silence, and leave the others copying.
            self.failure = MirrorError(f"internal error: {error!r}")
            raise
        finally:
            self.target.close()

    def _copy(self, source: Source) -> None:
        commit_at = self._clock() + self._commit_interval_s
        try:
            while not self._stopped.is_set():
                for message in source.take(_TAKE_S):
                    if not self.target.send(message, self._stopped.is_set):
                        # Taken and not sent: nothing that stands behind it may be committed.
                        self.could_commit = False
                        return
                self.target.serve()
                if self._clock() >= commit_at:
                    if self.target.drain(_DRAIN_S, self._stopped.is_set):
                        source.commit()
                    commit_at = self._clock() + self._commit_interval_s
        except BarnabasError:
            self.could_commit = False
            raise
        self.could_commit = self.target.drain(_DRAIN_S)
        if self.could_commit:
            source.commit()
