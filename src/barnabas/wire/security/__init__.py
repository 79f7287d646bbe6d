"""What both ends of a connection know of security: TLS, the mechanisms of SASL, principals and what an ACL says."""
