"""Security formats of both ends of a connection: TLS, SASL's mechanisms, principals, ACLs."""
