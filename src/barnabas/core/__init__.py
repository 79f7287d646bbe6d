"""Shared basics of every layer: types for offsets and partitions, errors, time, waiting, configuration.

Imports the standard library only.
"""
