"""One connection's requests, one handler per API: from a decoded request to an answer."""
