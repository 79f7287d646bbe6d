"""Requests from this broker to another one, or to itself, over the listener that brokers use among themselves."""
