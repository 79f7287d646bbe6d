"""`python -m barnabas.pipeline`; `barnabas pipeline` runs the same."""

import sys

from barnabas.pipeline.commands.main import main

if __name__ == "__main__":
    sys.exit(main())
