"""Kafka Connect with Debezium's connector for PostgreSQL, for the tests: its jars and a worker out of them. The package
never imports this.
"""
