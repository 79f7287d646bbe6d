"""What this broker knows of the cluster: live brokers, partition leaders, topic configurations."""
