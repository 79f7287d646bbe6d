"""TLS: keys and certificates from Kafka's settings, and the principal of a certificate."""
