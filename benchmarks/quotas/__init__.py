"""The well-known quota experiment, on Kafka 2.7.2 and Barnabas in turn; `scripts/bench --quotas`."""
