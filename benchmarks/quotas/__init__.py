"""The experiment that made quotas known, on Kafka 2.7.2 and Barnabas in turn; `scripts/bench --quotas`."""
