"""A temporary directory that is removed with the process that created it, however that process ends."""

import os
import shutil
import subprocess
import tempfile
import weakref
from pathlib import Path

# Waits until the test's process has ended. Removes the directory repeatedly: a broker that is being killed may still
# write a file.
_CLEANER = 'read -r line; for seconds in 0 1 2; do sleep "$seconds"; rm -rf -- "$1"; done'


class VanishingDirectory:
    """A temporary directory that is removed on request, at exit, or when this process has ended."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="barnabas-"))
        self._cleaner = subprocess.Popen(
            ["/bin/sh", "-c", _CLEANER, "sh", str(self.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.remove = weakref.finalize(self, _remove, self.path, self._cleaner, os.getpid())


def _remove(path: Path, cleaner: "subprocess.Popen[bytes]", owner_pid: int) -> None:
    if os.getpid() != owner_pid:
        return
    shutil.rmtree(path, ignore_errors=True)
    cleaner.kill()
    cleaner.wait()
    assert cleaner.stdin is not None
    cleaner.stdin.close()
