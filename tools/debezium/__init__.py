"""Kafka Connect with Debezium's connector for PostgreSQL, for tests: its jars and a worker.

The package never imports it.
"""
