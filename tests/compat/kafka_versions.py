"""The versions of Kafka whose brokers `tools.kafka` can start, for tests that hand directories over."""

NEWEST = "2.7.2"
KAFKA_VERSIONS = (NEWEST,)
