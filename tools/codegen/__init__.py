"""Turns the facts in schemas/ into committed Python modules and documentation tables.

The package never imports this one; `scripts/generate` runs it and must leave no difference behind.
"""
