"""Metrics and health checks of a running broker."""
