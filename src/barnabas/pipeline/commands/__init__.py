"""The commands of `barnabas pipeline`: one file each, with its options and implementation.

A command's module has `add_options(parser)` and `run(arguments)`, which returns the exit code. Its docstring, from the
first ": " on, is the command's help.
"""
