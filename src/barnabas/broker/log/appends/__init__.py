"""What happens to records before they are in a log: prepared (`prepare`), then placed (`PartitionLog.place`)."""
