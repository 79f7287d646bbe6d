"""`barnabas pipeline`: hands over to `python -m barnabas.pipeline`, in place of this process.

Nothing of the pipeline is imported here: it has requirements of its own, and takes the broker's side over the wire.
"""

import os
import sys
from collections.abc import Sequence
from typing import NoReturn


def run_pipeline(arguments: Sequence[str]) -> NoReturn:
    """Become the pipeline's own process; signals and the exit code are then its own."""
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-P", "-m", "barnabas.pipeline", *arguments])
