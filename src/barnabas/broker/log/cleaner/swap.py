"""Replaces segments by the cleaned segment that was made from them.

    1  <base>.log.cleaned ...     -> <base>.log.swap ...        the indexes last: the swap is final after them
    2  <replaced>.log ...         -> <replaced>.log.deleted     from the oldest on; removed after file.delete.delay.ms
    3  <base>.log.swap ...        -> <base>.log

After a crash, loading the log (`directory_files`) restores the old segments if step 1 was not complete, else the new
segment: it completes the swap of a `.swap` file unless a `.cleaned` file has the same or a lower base offset.

Invariants: in memory, the new segment replaces the old ones in one step, with its files open, so that no reader sees a
partly cleaned log or opens a file that is being renamed. The renames follow in the log's disk work. Nothing is renamed
unless the log still has the segments that were read.

Source: log-format facts, load and recovery, cleaner.
"""

from collections.abc import Sequence
from pathlib import Path

from barnabas.broker.log.disk.files import FileSystem
from barnabas.broker.log.file_names import CLEANED_SUFFIX, SWAP_SUFFIX, segment_paths
from barnabas.broker.log.segments.segment import Segment
from barnabas.broker.log.segments.segment_chain import mark_deleted


def cleaned_path(path: Path) -> Path:
    """Return a file's name while it is written."""
    return path.with_name(path.name + CLEANED_SUFFIX)


def swap_path(path: Path) -> Path:
    """Return a file's name while the segments that it replaces are being removed."""
    return path.with_name(path.name + SWAP_SUFFIX)


def swap(files: FileSystem, directory: Path, base_offset: int, replaced: Sequence[Segment]) -> list[Path]:
    """Run all three steps, as part of the log's disk work.

    Returns:
        The new names of the replaced segments' files.

    Raises:
        StorageError: The disk failed.
    """
    make_swap_files(files, directory, base_offset)
    renamed = mark_deleted(files, replaced)
    put_in_place(files, directory, base_offset)
    return renamed


def make_swap_files(files: FileSystem, directory: Path, base_offset: int) -> None:
    """Run step 1: rename `.cleaned` files to `.swap`.

    Raises:
        StorageError: The disk failed.
    """
    for path in segment_paths(directory, base_offset):
        if files.exists(cleaned_path(path)):
            files.rename(cleaned_path(path), swap_path(path))


def put_in_place(files: FileSystem, directory: Path, base_offset: int) -> None:
    """Run step 3: rename `.swap` files to their final names.

    Raises:
        StorageError: The disk failed.
    """
    for path in segment_paths(directory, base_offset):
        if files.exists(swap_path(path)):
            files.rename(swap_path(path), path)


def remove_cleaned(files: FileSystem, directory: Path, base_offset: int) -> None:
    """Remove the files of a cleaned segment that is no longer needed.

    Raises:
        StorageError: The disk failed.
    """
    for path in segment_paths(directory, base_offset):
        files.remove(cleaned_path(path))
