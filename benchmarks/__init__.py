"""Measurements of Barnabas; see README.md."""
