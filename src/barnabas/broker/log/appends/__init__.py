"""The path of records into a log: `prepare` validates them, then `PartitionLog.append_as_leader` writes them."""
