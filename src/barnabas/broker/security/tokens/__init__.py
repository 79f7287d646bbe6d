"""Delegation tokens: a user lets others log in as the user for some time, without the password."""
