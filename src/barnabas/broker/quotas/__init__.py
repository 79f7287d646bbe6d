"""Quotas: limits for users and client ids, and their use of a broker."""
