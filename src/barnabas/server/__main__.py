"""`python -m barnabas.server`: the broker without the rest of the command line."""

import sys

from barnabas.server.main import main

sys.exit(main(sys.argv[1:]))
