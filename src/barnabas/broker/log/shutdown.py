"""Closes logs when the broker stops, several at a time.

Source: log-format facts, files in a log dir (.kafka_cleanshutdown).
"""

import asyncio
import logging
from functools import partial

from barnabas.broker.log.partition_log import PartitionLog
from barnabas.core.errors import StorageError
from barnabas.core.executor import Executor, submit
from barnabas.wire.records.errors import CorruptRecordsError

_logger = logging.getLogger(__name__)


async def close_logs(
    executor: Executor, thread_count: int, logs: list[PartitionLog]
) -> tuple[bool, BaseException | None]:
    """Close all logs, `thread_count` at a time, when no writes to them are pending.

    Returns:
        Whether all were closed cleanly, and an error of one that could not be closed, after all were tried.
    """
    for log in logs:
        settled = log.settled()
        if not settled.is_done:
            await settled.future()
    # In parallel, because a file system can sync many files at once in little more time than one file.
    shares = [logs[number::thread_count] for number in range(min(thread_count, len(logs)))]
    works = [submit(executor, partial(_close_some, share)).future() for share in shares]
    outcomes = await asyncio.gather(*works, return_exceptions=True)
    error = next((outcome for outcome in outcomes if isinstance(outcome, BaseException)), None)
    return all(outcome is True for outcome in outcomes), error


def _close_some(logs: list[PartitionLog]) -> bool:
    """Close all logs that can be closed; return whether all were closed cleanly.

    Raises:
        StorageError: The disk failed for one of them.
    """
    are_closed = True
    failure: StorageError | None = None
    for log in logs:
        try:
            are_closed = _close(log) and are_closed
        except StorageError as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return are_closed


def _close(log: PartitionLog) -> bool:
    """Close a log; return False if it is damaged or its disk work failed earlier.

    Raises:
        StorageError: The disk failed.
    """
    if log.has_failed:
        log.release()
        return False
    try:
        log.close()
    except CorruptRecordsError as error:
        _logger.error("cannot close %s cleanly: %s", log.directory, error)
        log.release()
        return False
    return True
