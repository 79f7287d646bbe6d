"""Quotas: how much of a broker a user, a client id or both may use, and what each of them used."""
