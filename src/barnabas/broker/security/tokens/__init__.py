"""Delegation tokens: a user lets others log in as this user for a limited time, without the password."""
