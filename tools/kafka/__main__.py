"""`python -m tools.kafka fetch`: fetch all jars into `.cache/`, and create class archives for a quick start."""

import sys

from tools.kafka.jars import JAR_SETS, KAFKA, OLD_KAFKAS, JarsError, directory
from tools.kafka.server import ServerError, archive_classes


def main() -> int:
    if sys.argv[1:] != ["fetch"]:
        print("usage: python -m tools.kafka fetch", file=sys.stderr)
        return 2
    try:
        for jar_set in JAR_SETS:
            print(f"{jar_set}: {directory(jar_set)}")
        for jar_set in (KAFKA, *OLD_KAFKAS):
            print(f"{jar_set}, mapped: {archive_classes(jar_set)}")
    except (JarsError, ServerError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
