"""What TLS needs beside the bytes: keys and certificates from Kafka's settings, and who a certificate is."""
