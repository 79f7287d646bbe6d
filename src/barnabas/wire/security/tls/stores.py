"""Keystores and truststores: private keys, certificates and revocation lists of any form, as PEM.

| `*.type` | source |
| --- | --- |
| PEM | a file, or the settings themselves (`ssl.keystore.key`, `ssl.truststore.certificates`; KIP-651) |
| PKCS12 | a file; the default of Java's keytool since Java 9, whatever the file's name |
| JKS | a file that is PKCS12 inside (as Java reads it, too); Java's older format is rejected, with the way to convert |

Invariant: no error contains a password, a key or a part of one.

Source: security page, encryption and authentication using SSL; KIP-651; Kafka 2.7.2, DefaultSslEngineFactory.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from barnabas.core.errors import ConfigError

PEM, PKCS12, JKS = "PEM", "PKCS12", "JKS"
TYPES = (PEM, PKCS12, JKS)

_JKS_MAGIC = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
_PEM_CERTIFICATE = b"-----BEGIN CERTIFICATE-----"
_PEM_KEY = b"PRIVATE KEY-----"
_PEM_BLOCK = re.compile(r"(-----BEGIN [^-]+-----)([A-Za-z0-9+/=\s]*)(-----END [^-]+-----)")


@dataclass(slots=True, frozen=True)
class KeyPair:
    """A private key and its certificates.

    Attributes:
        pem: The key in PKCS8, perhaps encrypted, and the chain, its own certificate first.
        password: Of the key; None where it is not encrypted.
    """

    pem: bytes = field(repr=False)
    password: str | None = field(repr=False)


def key_pair(key: str, chain: str, password: str | None) -> KeyPair:
    """Read `ssl.keystore.key` and `ssl.keystore.certificate.chain`. Raises ConfigError."""
    return _checked_pair(_with_lines(f"{key}\n{chain}\n").encode(), password, "ssl.keystore.key")


def read_key_pair(location: str, kind: str, password: str | None, key_password: str | None) -> KeyPair:
    """Read a keystore.

    Args:
        kind: `ssl.keystore.type`.
        password: The file's password; None: it has none.
        key_password: Of the key.

    Raises:
        ConfigError: The file is unreadable; one line with its name.
    """
    data = read_store(location)
    if _is_pem(data, location, kind):
        return _checked_pair(_with_lines(data.decode("ascii", "replace")).encode(), key_password, location)
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        pkcs12,
    )

    try:
        key, certificate, others = pkcs12.load_key_and_certificates(data, password.encode() if password else None)
    except ValueError:
        raise _unreadable(location, "it is not PKCS12, or its password is wrong") from None
    except UnsupportedAlgorithm as error:
        raise _unreadable(location, str(error)) from None
    if key is None or certificate is None:
        raise _unreadable(location, "it holds no private key with a certificate")
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    chain = b"".join(each.public_bytes(Encoding.PEM) for each in (certificate, *others))
    return KeyPair(pem + chain, None)


def trusted(certificates: str) -> str:
    """Parse `ssl.truststore.certificates`. Raises ConfigError."""
    if _PEM_CERTIFICATE.decode() not in certificates:
        raise ConfigError("ssl.truststore.certificates: holds no certificate in PEM")
    return _with_lines(certificates)


def _with_lines(pem: str) -> str:
    """Break PEM into lines: it may be on one line, as in KIP-651, and files may be joined without a line break."""

    def broken(found: re.Match[str]) -> str:
        begin, body, end = found.groups()
        text = "".join(body.split())
        # On a line of its own: otherwise OpenSSL skips it.
        return "\n".join(("", begin, *(text[start : start + 64] for start in range(0, len(text), 64)), end, ""))

    return _PEM_BLOCK.sub(broken, pem)


def read_trusted(location: str, kind: str, password: str | None) -> str:
    """Read a truststore: its certificates in PEM. Raises ConfigError."""
    data = read_store(location)
    if _is_pem(data, location, kind):
        if _PEM_CERTIFICATE not in data:
            raise _unreadable(location, "it holds no certificate in PEM")
        return _with_lines(data.decode("ascii", "replace"))
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import Encoding, pkcs12

    try:
        store = pkcs12.load_pkcs12(data, password.encode() if password else None)
    except ValueError:
        raise _unreadable(location, "it is not PKCS12, or its password is wrong") from None
    except UnsupportedAlgorithm as error:
        raise _unreadable(location, str(error)) from None
    found = [each.certificate for each in store.additional_certs]
    if store.cert is not None:
        found.append(store.cert.certificate)
    if not found:
        raise _unreadable(location, "it holds no certificate")
    return b"".join(each.public_bytes(Encoding.PEM) for each in found).decode()


def read_store(location: str) -> bytes:
    """Return the bytes of a file. Raises ConfigError."""
    try:
        return Path(location).read_bytes()
    except OSError as error:
        raise _unreadable(location, (error.strerror or str(error)).lower()) from None


def _is_pem(data: bytes, location: str, kind: str) -> bool:
    """Return whether a store is PEM, and not PKCS12. Raises ConfigError if it is neither, or not the given type."""
    if kind.upper() not in TYPES:
        raise _unreadable(location, f"its type {kind} is not supported: use {', '.join(TYPES)}")
    if kind.upper() == PEM:
        return True
    if data[:4] in _JKS_MAGIC:
        # differs from Kafka (jks): it has Java to read it.
        raise _unreadable(
            location,
            f"it is in Java's own format JKS; convert it: keytool -importkeystore -srckeystore {location} "
            f"-destkeystore {Path(location).with_suffix('.p12')} -deststoretype pkcs12, and set its type to PKCS12",
        )
    if b"-----BEGIN " in data[:1024]:
        raise _unreadable(location, "it is PEM: set its type to PEM")
    return False


def _checked_pair(pem: bytes, password: str | None, where: str) -> KeyPair:
    # differs from Kafka (pem-keys): in a file it takes only a key that is encrypted, and in PKCS8.
    if _PEM_KEY not in pem:
        raise _unreadable(where, "it holds no private key in PEM")
    if _PEM_CERTIFICATE not in pem:
        raise _unreadable(where, "it holds no certificate in PEM")
    return KeyPair(pem, password)


def _unreadable(where: str, reason: str) -> ConfigError:
    return ConfigError(f"{where} is unusable: {reason}")
