"""The path of records into a log: `prepare` validates them, then `PartitionLog.place` writes them."""
