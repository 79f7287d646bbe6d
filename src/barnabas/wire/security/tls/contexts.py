"""OpenSSL contexts from settings: keys, trusted certificates, versions, ciphers.

As in Java, and unlike OpenSSL by default, every certificate of a truststore is trusted, whether an authority's or not,
and a client may not renegotiate. Sessions are not resumed if clients have certificates: each certificate is verified on
every connection.

Source: Kafka 2.7.2, DefaultSslEngineFactory; OpenSSL, SSL_CTX_new(3).
"""

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import NamedTemporaryFile

from barnabas.core.errors import ConfigError
from barnabas.wire.security.tls.cipher_suites import TLS_1_3, openssl_name
from barnabas.wire.security.tls.settings import TlsSettings
from barnabas.wire.security.tls.stores import KeyPair, key_pair, read_key_pair, read_store, read_trusted, trusted

_VERSIONS = {
    "TLSv1": ssl.TLSVersion.TLSv1,
    "TLSv1.1": ssl.TLSVersion.TLSv1_1,
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}
_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


def server_context(settings: TlsSettings) -> ssl.SSLContext:
    """Create a listener's context. Reads files, and computes: a few milliseconds.

    Raises:
        ConfigError: A setting or file is unusable; one line that names it.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pair = key_pair_of(settings)
    if pair is None:
        raise ConfigError("a listener with TLS needs a key and a certificate: set ssl.keystore.location")
    _load(context, pair, settings.keystore_location or "ssl.keystore.key")
    context.verify_mode = _AUTH[settings.client_auth]
    if context.verify_mode is not ssl.CERT_NONE:
        _trust(context, settings)
        context.num_tickets = 0
        context.options |= ssl.OP_NO_TICKET
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
    _restrict(context, settings)
    return context


def client_context(settings: TlsSettings) -> ssl.SSLContext:
    """Create a client's context. Raises ConfigError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.checks_host
    pair = key_pair_of(settings)
    if pair is not None:
        _load(context, pair, settings.keystore_location or "ssl.keystore.key")
    _trust(context, settings)
    _restrict(context, settings)
    return context


def key_pair_of(settings: TlsSettings) -> KeyPair | None:
    """Return the side's own key and certificates; None if it has none. Raises ConfigError."""
    if settings.keystore_key:
        return key_pair(settings.keystore_key, settings.keystore_chain, settings.key_password)
    if settings.keystore_location:
        return read_key_pair(
            settings.keystore_location, settings.keystore_type, settings.keystore_password, settings.key_password
        )
    return None


def _load(context: ssl.SSLContext, pair: KeyPair, where: str) -> None:
    # Never None: OpenSSL would ask for the password at the terminal.
    password = pair.password or ""
    try:
        with _as_file(pair.pem) as path:
            context.load_cert_chain(path, password=lambda: password)
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or "BAD_DECRYPT"
        if reason == "KEY_VALUES_MISMATCH":
            text = "its first certificate is not for its private key"
        elif "DECRYPT" in reason or "PASSWORD" in reason:
            text = "its private key cannot be decrypted: ssl.key.password does not match"
        else:
            text = reason.lower().replace("_", " ")
        raise ConfigError(f"{where} is unusable: {text}") from None


def certificates_of(settings: TlsSettings) -> str:
    """Return the trusted certificates, in PEM; empty: the system's authorities. Raises ConfigError."""
    if settings.truststore_certificates:
        return trusted(settings.truststore_certificates)
    if settings.truststore_location:
        return read_trusted(settings.truststore_location, settings.truststore_type, settings.truststore_password)
    return ""


def _trust(context: ssl.SSLContext, settings: TlsSettings) -> None:
    """Load the truststore, or else the system's authorities, into the context."""
    where = settings.truststore_location or "ssl.truststore.certificates"
    certificates = certificates_of(settings)
    try:
        if certificates:
            # Comments may not be ASCII, which Python requires.
            context.load_verify_locations(cadata=certificates.encode("ascii", "replace").decode())
        else:
            context.load_default_certs()
    except (ssl.SSLError, ValueError):
        raise ConfigError(f"{where} is unusable: it contains an invalid certificate") from None
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if settings.crl_location:
        _refuse_revoked(context, settings.crl_location)


def _refuse_revoked(context: ssl.SSLContext, location: str) -> None:
    data = read_store(location)
    try:
        with _as_file(data) as path:
            context.load_verify_locations(path)
    except ssl.SSLError:
        raise ConfigError(f"{location} is unusable: it is not a list of revoked certificates in PEM") from None
    if not context.cert_store_stats()["crl"]:
        raise ConfigError(f"{location} is unusable: it contains no list of revoked certificates")
    context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF


def _restrict(context: ssl.SSLContext, settings: TlsSettings) -> None:
    """Disable the versions and ciphers that the settings exclude."""
    protocols = set(settings.protocols)
    suites = settings.cipher_suites
    if suites:
        older = [openssl_name(suite) for suite in suites if suite not in TLS_1_3]
        # differs from Kafka (tls13-suites): each suite of TLS 1.3 can be left out by itself there.
        if len(older) == len(suites):
            protocols.discard("TLSv1.3")
        if not older:
            protocols &= {"TLSv1.3"}
        for suite in older:
            try:
                context.set_ciphers(suite)
            except ssl.SSLError:
                raise ConfigError(f"ssl.cipher.suites: {suite} does not exist") from None
        if older:
            context.set_ciphers(":".join(older))
    if not protocols:
        raise ConfigError("no version of ssl.enabled.protocols has a cipher of ssl.cipher.suites")
    versions = [version for name, version in _VERSIONS.items() if name in protocols]
    if len(versions) <= versions[-1] - versions[0]:
        raise ConfigError("ssl.enabled.protocols: leaves out a version between others")
    context.minimum_version, context.maximum_version = versions[0], versions[-1]


@contextmanager
def _as_file(data: bytes) -> Iterator[str]:
    """Provide the bytes as a file, because OpenSSL reads only files; in memory if the system supports that."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("barnabas-tls", os.MFD_CLOEXEC)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
            yield f"/proc/self/fd/{fd}"
        finally:
            os.close(fd)
        return
    with NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        yield file.name
