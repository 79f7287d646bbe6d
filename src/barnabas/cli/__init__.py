"""The command line: `barnabas broker`, the commands that `commands` names, and what they share.

A command loads its own module and the clients that it needs; `parser` reads its options, rich draws tables on
terminals. `broker` has its own small path. Options have Kafka's names where Kafka's tools have them. Results go to
stdout (tables for people, `--json` for scripts), all else to stderr; errors are one line that says what to do, with
exit code 1.
"""
