"""Generates committed Python modules and documentation tables from the data in schemas/.

The package never imports it; `scripts/generate` runs it and must leave no diff.
"""
