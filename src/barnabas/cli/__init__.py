"""The command line: `barnabas broker`, the commands listed in `commands`, and their shared code.

A command loads its own module and the clients that it needs; `parser` reads its options, rich draws tables on
terminals. `broker` is started without loading the rest. Options have the names of Kafka's tools where one exists.
Results go to stdout (tables for people, `--json` for scripts), everything else to stderr. An error is one line that
says what to do, and exit code 1.
"""
