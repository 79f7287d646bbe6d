"""The base of both coordinators (groups, transactions): partitions of an internal topic that this broker leads.

It maps names to partitions, knows which partitions are led and loaded, and loads them without blocking the event loop.
"""
