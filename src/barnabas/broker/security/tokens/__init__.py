"""Delegation tokens: a user lets somebody else log in as him for a while, without his password."""
