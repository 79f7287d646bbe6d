"""Requests from this broker to other brokers or itself, over the inter-broker listener."""
