"""The commands of `barnabas pipeline`: one file each, with its options and implementation.

A module has `NAME`, `HELP`, `add_options(parser)` and `run(arguments)`, which gives the exit code.
"""
