"""`python -m barnabas.pipeline`, which `barnabas pipeline` becomes."""

import sys

from barnabas.pipeline.commands.main import main

if __name__ == "__main__":
    sys.exit(main())
