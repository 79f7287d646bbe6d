"""The versions of Kafka whose brokers `tools.kafka` can start, for tests that hand directories over."""

NEWEST = "2.7.2"
OLD_VERSIONS = ("0.10.2.2", "0.11.0.3", "1.1.1", "2.3.1")
