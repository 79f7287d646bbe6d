"""The log's door to the disk: files, the page cache, and reads of what it does not hold."""
