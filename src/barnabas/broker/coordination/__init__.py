"""The base of both coordinators (groups, transactions): partitions of an internal topic that this broker leads.

It maps names to partitions, loads partitions that this broker leads without blocking the event loop, and tracks which
are loaded.
"""
