"""Sources of events: logs, a host, a generator; and their transfer to topics, in order and only once."""
