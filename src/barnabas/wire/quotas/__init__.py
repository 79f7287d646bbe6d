"""What a quota limits, for whom, and which of several holds: the words that clients, brokers and tools share."""
