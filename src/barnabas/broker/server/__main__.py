"""`python -m barnabas.broker.server`: the broker without the rest of the command line."""

import sys

from barnabas.broker.server.main import main

sys.exit(main(sys.argv[1:]))
