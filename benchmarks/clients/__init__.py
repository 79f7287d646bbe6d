"""The client APIs of `barnabas.api` compared with other Python clients, on one Barnabas broker."""
