"""The cost of logins, access rules, quotas and metrics, compared with Kafka 2.7.2."""
