"""What the client APIs of `barnabas.api` cost beside other Python clients, on one Barnabas broker."""
