"""Quotas: limited resources, entities, and precedence; shared by clients, brokers and tools."""
