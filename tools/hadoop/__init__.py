"""Hadoop's HDFS for tests: its jars and a small cluster. The package never imports it."""
