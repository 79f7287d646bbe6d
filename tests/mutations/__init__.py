"""Deliberate faults: each is put into the code by itself, and says whether the tests find it.

See docs/contributing/proofs.md.
"""
