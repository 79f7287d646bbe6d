"""`python -m tools.kafka fetch`: bring all jars into `.cache/`."""

import sys

from tools.kafka.jars import JAR_SETS, JarsError, directory


def main() -> int:
    if sys.argv[1:] != ["fetch"]:
        print("usage: python -m tools.kafka fetch", file=sys.stderr)
        return 2
    try:
        for jar_set in JAR_SETS:
            print(f"{jar_set}: {directory(jar_set)}")
    except JarsError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
