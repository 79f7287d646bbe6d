"""Puts a cleaned segment in the place of those it was made from.

    1  <base>.log.cleaned ...     -> <base>.log.swap ...        the indexes last: they make the swap certain
    2  <replaced>.log ...         -> <replaced>.log.deleted     from the oldest on; removed after file.delete.delay.ms
    3  <base>.log.swap ...        -> <base>.log

A crash before the end of step 1 leaves the old segments, one after it the new segment, once the log is loaded again
(`directory_files`): a `.swap` beside no `.cleaned` of its offset or a lower one is put in place then.

Invariants: everything happens on the event loop in one piece, so that no reader sees a half-cleaned log; nothing is
renamed unless the segments are still those that were read.

Source: log-format facts, load and recovery, cleaner.
"""

from pathlib import Path

from barnabas.log.disk.files import FileSystem
from barnabas.log.file_names import CLEANED_SUFFIX, SWAP_SUFFIX, segment_paths


def cleaned_path(path: Path) -> Path:
    """What a file is called while it is written."""
    return path.with_name(path.name + CLEANED_SUFFIX)


def swap_path(path: Path) -> Path:
    """What a file is called while those it replaces are taken away."""
    return path.with_name(path.name + SWAP_SUFFIX)


def make_swap_files(files: FileSystem, directory: Path, base_offset: int) -> None:
    """Step 1.

    Raises:
        StorageError: The disk failed.
    """
    for path in segment_paths(directory, base_offset):
        if files.exists(cleaned_path(path)):
            files.rename(cleaned_path(path), swap_path(path))


def put_in_place(files: FileSystem, directory: Path, base_offset: int) -> None:
    """Step 3.

    Raises:
        StorageError: The disk failed.
    """
    for path in segment_paths(directory, base_offset):
        if files.exists(swap_path(path)):
            files.rename(swap_path(path), path)


def remove_cleaned(files: FileSystem, directory: Path, base_offset: int) -> None:
    """Take back what was written of a segment that is not wanted any more.

    Raises:
        StorageError: The disk failed.
    """
    for path in segment_paths(directory, base_offset):
        files.remove(cleaned_path(path))
