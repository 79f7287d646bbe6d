"""Principals (who a request comes from) and authorisation (what they may do)."""
