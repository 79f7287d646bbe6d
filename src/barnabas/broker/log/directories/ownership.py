"""Ownership of the directories of `log.dirs`: all belong to one broker of one cluster, and to one process at a time.

Invariant: a directory of another broker or cluster is refused before anything in it is changed; a failed disk takes
only its own directory offline.

Source: log-format facts, files in a log dir (.lock, meta.properties).
"""

import logging
from typing import TypeVar

from barnabas.broker.log.directories.directory import META_FILE, Identity, LogDirectory
from barnabas.broker.log.directories.log_dirs import LogDirs
from barnabas.core.errors import StartupError, StorageError

T = TypeVar("T")

_logger = logging.getLogger(__name__)


def lock(directories: LogDirs) -> Identity:
    """Lock the directories for this process and return their owner; blocks.

    Raises:
        StartupError: Another process has locked one, or they belong to different brokers or clusters.
        StorageError: No directory can be created and written, or the registry's cannot.
    """
    try:
        found = []
        for directory in directories:
            try:
                directory.lock()
                found.append((directory, directory.identity()))
            except StorageError as error:
                directories.take_offline(directory, error)
        return Identity(
            _the_one("broker.id", [(each, it.broker_id) for each, it in found if it]),
            _the_one("cluster.id", [(each, it.cluster_id) for each, it in found if it]),
        )
    except BaseException:
        directories.unlock()
        raise


def claim(directories: LogDirs, cluster_id: str, broker_id: int, now_ms: int) -> None:
    """Write this broker's id into the directories; blocks.

    Args:
        now_ms: The time for the date in their files.

    Raises:
        StartupError: A directory belongs to another broker or cluster; nothing was changed.
        StorageError: All disks failed, or the disk of the registry's directory.
    """
    unnamed: list[LogDirectory] = []
    new: list[str] = []
    for directory in directories:
        try:
            found = directory.identity()
        except StorageError as error:
            directories.take_offline(directory, error)
            continue
        path = directory.path / META_FILE
        if found is not None and found.broker_id not in (None, broker_id):
            raise StartupError(
                f"{path} names broker {found.broker_id}, but this broker's broker.id is {broker_id}: "
                "set broker.id to that, or choose another log.dirs"
            )
        if found is not None and found.cluster_id not in (None, cluster_id):
            raise StartupError(
                f"{path} names cluster {found.cluster_id}, but this broker's cluster is {cluster_id}: "
                "choose another log.dirs, or start it with that cluster's registry"
            )
        if found is None:
            new.append(str(directory.path))
        if found is None or None in found:
            unnamed.append(directory)
    if 0 < len(new) < len(directories.online):
        _logger.warning(
            "%s: no %s, so new or empty, unlike this broker's other directories; replicas that were stored there are "
            "copied again from other brokers",
            ", ".join(new),
            META_FILE,
        )
    for directory in directories:
        try:
            if directory in unnamed:
                directory.write_identity(broker_id, cluster_id, now_ms)
            directory.make_checkpoints()
        except StorageError as error:
            directories.take_offline(directory, error)


def _the_one(name: str, found: list[tuple[LogDirectory, T]]) -> T | None:
    """Return the value that all directories share, ignoring directories without a value; None if none has one."""
    said = [(directory, value) for directory, value in found if value is not None]
    for directory, value in said[1:]:
        if value != said[0][1]:
            raise StartupError(
                f"{said[0][0].path / META_FILE} has {name}={said[0][1]}, but {directory.path / META_FILE} has "
                f"{name}={value}: directories of different brokers can't be used together"
            )
    return said[0][1] if said else None
