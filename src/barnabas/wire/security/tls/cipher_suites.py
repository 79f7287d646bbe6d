"""Cipher suites by the names in Kafka's settings (IANA's), and by OpenSSL's.

    TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384    ECDHE-RSA-AES256-GCM-SHA384
    TLS_RSA_WITH_AES_128_CBC_SHA             AES128-SHA
    TLS_AES_128_GCM_SHA256                   the same: TLS 1.3

Pure. Source: IANA, TLS cipher suites; OpenSSL, openssl-ciphers(1).
"""

import re

TLS_1_3 = ("TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256")

_SUITE = re.compile(r"(?:TLS|SSL)_(\w+)_WITH_(\w+)")
_AES = re.compile(r"^AES_(\d+)_(?:CBC_)?")


def openssl_name(suite: str) -> str:
    """Return OpenSSL's name of a suite of TLS 1.2; OpenSSL's own names stay unchanged."""
    match = _SUITE.fullmatch(suite)
    if match is None:
        return suite
    exchange, cipher = match[1], match[2]
    cipher = _AES.sub(r"AES\1_", cipher).replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305")
    name = cipher if exchange == "RSA" else f"{exchange}_{cipher}"
    return name.replace("_", "-")
