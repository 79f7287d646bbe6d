"""Requests that need bytes outside the page cache: an executor reads them, then the request is handled again.

Source: design page, section 3.
"""

from collections.abc import Callable
from typing import TypeVar

from barnabas.broker.log.disk.cold_reads import ColdReads, NotCachedError
from barnabas.core.errors import StorageError
from barnabas.core.pending import Pending

T = TypeVar("T")


def answer_when_read(
    cold_reads: ColdReads | None, attempt: Callable[[ColdReads | None], T], most_attempts: int
) -> T | Pending[T]:
    """Handle a request, and repeat it after each disk read that it needs.

    Args:
        cold_reads: None: no executor for disk reads exists, so the event loop waits for the disk.
        attempt: Handles the request and passes its argument to the logs; with None it may wait for the disk.
        most_attempts: After this many attempts the event loop waits for the disk, because bytes may leave the page
            cache before they are used.
    """
    if cold_reads is None:
        return attempt(None)
    try:
        return attempt(cold_reads)
    except NotCachedError as missing:
        pending: Pending[T] = Pending()
        _read(cold_reads, missing, attempt, most_attempts, pending)
        return pending


def _read(
    cold_reads: ColdReads,
    missing: NotCachedError,
    attempt: Callable[[ColdReads | None], T],
    left_count: int,
    pending: Pending[T],
) -> None:
    def go_on(failures: list[BaseException | None]) -> None:
        if pending.is_done:
            return
        is_last = left_count <= 1 or isinstance(failures[0], StorageError)
        try:
            answer = attempt(None if is_last else cold_reads)
        except NotCachedError as still_missing:
            _read(cold_reads, still_missing, attempt, left_count - 1, pending)
        except Exception as error:
            pending.fail(error)
        else:
            pending.complete(answer)

    cold_reads.read([missing.work], go_on)
