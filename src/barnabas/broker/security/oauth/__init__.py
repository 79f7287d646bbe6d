"""Validation of OAUTHBEARER tokens: signed ones by public keys, or unsecured ones."""
