"""When checkpoints are written, and that the end waits for them."""

from barnabas.broker.log.directories.checkpoints import Checkpoints
from barnabas.broker.log.directories.directory import LogDirectory
from barnabas.broker.log.directories.log_dirs import LogDirs
from barnabas.broker.log.disk.files import LocalFileSystem
from barnabas.broker.log.startup.loading import DamagedLog
from barnabas.core.types import TopicPartition
from barnabas.testing.manual_executor import ManualExecutor


def test_the_end_waits_for_what_changed_while_a_checkpoint_was_written(tmp_path):
    """Or two would replace the file at the same time: that write, and the one when the directory is closed."""
    executor = ManualExecutor()
    directory = LogDirectory(LocalFileSystem(), tmp_path)
    partition = TopicPartition("t", 0)
    log = DamagedLog(tmp_path / "t-0", "", first_dirty_offset=1)
    checkpoints = Checkpoints(executor, LogDirs([directory]), {}, {partition: log}, dict, print)
    checkpoints.write_cleaner_offsets(directory)
    log.first_dirty_offset = 2
    checkpoints.write_cleaner_offsets(directory)
    ended = checkpoints.ended()

    executor.run_next()
    assert (executor.waiting_count, ended.is_done) == (1, False)
    executor.run_next()
    assert (executor.waiting_count, ended.is_done) == (0, True)
    assert directory.cleaner_offsets.read() == {partition: 2}
