"""Attacks over the network: each module runs one kind by itself, on Kafka with `--kafka`."""
