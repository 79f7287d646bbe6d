"""The cost of groups, transactions, very many topics, partitions and connections, compared with Kafka 2.7.2."""
