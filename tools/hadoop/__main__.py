"""`python -m tools.hadoop fetch`: fetch the jars into `.cache/`."""

import sys

from tools.hadoop.server import jars
from tools.kafka.jars import JarsError


def main() -> int:
    if sys.argv[1:] != ["fetch"]:
        print("usage: python -m tools.hadoop fetch", file=sys.stderr)
        return 2
    try:
        print(jars())
    except JarsError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
