"""Whole brokers under the same load, in turn: Kafka 2.7.2, Barnabas, the prototype and the C program `floor`."""
