"""Closes logs at the end, several at a time.

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
        Whether all were whole, and why one of them could not be closed, after all were tried.
    """
    for log in logs:
        settled = log.settled()
        if not settled.is_done:
            await settled.future()
    # A file system brings many files to disk in little more time than one, if it is asked for all at once.
    shares = [logs[number::thread_count] for number in range(min(thread_count, len(logs)))]
    works = [submit(executor, partial(_close_some, share)).future() for share in shares]
    outcomes = await asyncio.gather(*works, return_exceptions=True)
    error = next((outcome for outcome in outcomes if isinstance(outcome, BaseException)), None)
    return all(outcome is True for outcome in outcomes), error


def _close_some(logs: list[PartitionLog]) -> bool:
    """Close logs, all that can be; whether all were whole.

    Raises:
        StorageError: The disk failed under one of them.
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
    """Close a log; whether it was possible, the disk being well and having been so before.

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
