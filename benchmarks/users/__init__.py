"""What one whole broker costs beside Kafka 2.7.2: groups, transactions, very many topics, partitions, connections."""
