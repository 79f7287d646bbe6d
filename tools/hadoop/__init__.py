"""Hadoop's HDFS, for the tests: its jars and a small cluster out of them. The package never imports this."""
