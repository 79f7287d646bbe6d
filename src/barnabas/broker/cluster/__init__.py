"""The broker's metadata cache: live brokers, partition leaders, topic configurations."""
