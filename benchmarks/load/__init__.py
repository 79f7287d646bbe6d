"""Whole brokers under load, in turn on the same work: Kafka 2.7.2, Barnabas, the prototype and the C floor."""
