"""What every layer shares: names for offsets and partitions, errors, time, waiting, configuration.

Imports the standard library only.
"""
