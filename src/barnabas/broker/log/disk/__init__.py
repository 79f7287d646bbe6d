"""Disk access of logs: files, the page cache, and reads of bytes that are not cached."""
