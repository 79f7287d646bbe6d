"""Principals (the identity behind a request) and authorization (its permissions)."""
