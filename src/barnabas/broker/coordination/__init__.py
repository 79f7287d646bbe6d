"""What both coordinators (groups, transactions) stand on: partitions of an internal topic that this broker leads.

Which partition a name belongs to, which of them are led and loaded, and loading them without holding up the loop.
"""
