"""The command line: `barnabas broker | topics | produce | consume | groups | perf`.

`broker` must start in a fraction of a second and has its own small path; typer and rich load for the other commands
only. Options have Kafka's names where Kafka's tools have them. Results go to stdout (tables for people, `--json` for
scripts), all else to stderr; errors are one line that says what to do, with exit code 1.
"""
