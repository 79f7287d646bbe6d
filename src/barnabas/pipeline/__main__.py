"""`python -m barnabas.pipeline`; `barnabas pipeline` runs the same."""

import sys

from barnabas.core.process import open_standard_streams
from barnabas.pipeline.commands.main import main

if __name__ == "__main__":
    open_standard_streams()
    sys.exit(main())
