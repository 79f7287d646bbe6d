"""Where events come from: logs, a host, a generator; and how they get into topics, in order and only once."""
