"""What the log costs where it is large or cold (restarts, reads by time, a lagging consumer), beside Kafka 2.7.2."""
