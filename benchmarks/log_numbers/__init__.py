"""The cost of large or cold logs (restarts, reads by time, a lagging consumer), compared with Kafka 2.7.2."""
