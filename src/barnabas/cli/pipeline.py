"""`barnabas pipeline`: replaces this process with `python -m barnabas.pipeline`.

Nothing of the pipeline is imported here: it has its own requirements and reaches brokers only over the network.
"""

import os
import sys
from collections.abc import Sequence
from typing import NoReturn


def run_pipeline(arguments: Sequence[str]) -> NoReturn:
    """Replace this process with the pipeline's, which then handles signals and sets the exit code."""
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-P", "-m", "barnabas.pipeline", *arguments])
