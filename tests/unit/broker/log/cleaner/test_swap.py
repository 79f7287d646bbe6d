"""Swapping segments: whatever step a kill comes after, the records are in the old segment or in the new one."""

import pytest

from barnabas.broker.log.cleaner.swap import cleaned_path, swap, swap_path
from barnabas.broker.log.disk.files import LocalFileSystem
from barnabas.broker.log.file_names import LOG_SUFFIX, file_name, segment_paths


class KilledError(Exception):
    pass


class DyingDisk(LocalFileSystem):
    """Ends the process at one of its renames."""

    __slots__ = ("_left_count",)

    def __init__(self, left_count):
        self._left_count = left_count

    def rename(self, source, target):
        if not self._left_count:
            raise KilledError
        self._left_count -= 1
        super().rename(source, target)


@pytest.mark.parametrize("rename_count", range(20))
def test_a_kill_after_any_step_finds_the_old_segment_or_the_new_one(
    open_partition_log, make_batch, directory, rename_count
):
    log = open_partition_log(segment_bytes=len(make_batch()))
    for _ in range(2):
        log.append(make_batch(), 0)
    log.close()
    old = [path for path in segment_paths(directory, 0) if path.exists()]
    for path in old:
        cleaned_path(path).write_bytes(path.read_bytes())
    is_done = True
    try:
        swap(DyingDisk(rename_count), directory, 0, log.segments[:1])
    except KilledError:
        is_done = False
    # All files are renamed three times: to what is swapped in, to what is deleted, and into place.
    assert is_done == (rename_count >= 3 * len(old))
    path = directory / file_name(0, LOG_SUFFIX)
    assert path.exists() or swap_path(path).exists()
