"""Clusters of Barnabas beside clusters of Kafka 2.7.2."""
