"""SASL mechanisms, both sides: PLAIN, SCRAM-SHA-256 and -512, OAUTHBEARER.

They are pure: bytes in, bytes out. `broker/requests/authentication.py` (a broker's connections) and the clients'
channel transport the bytes.
"""
