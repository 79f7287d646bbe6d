"""Certificates for tests of TLS, generated on each run: an authority, its certificates and revocations.

Source: RFC 5280; cryptography's x509 builders.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_DAY = timedelta(days=1)
_SHA256 = hashes.SHA256()

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass(slots=True, frozen=True)
class Certified:
    """A private key and a certificate for it.

    Attributes:
        certificate: Signed by `issuer`.
        issuer: The authority's certificate.
    """

    key: Key
    certificate: x509.Certificate
    issuer: x509.Certificate

    @property
    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)

    @property
    def certificate_der(self) -> bytes:
        return self.certificate.public_bytes(Encoding.DER)

    def key_pem(self, password: str = "") -> bytes:
        """Return the private key in PKCS8, encrypted if there is a password."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, _encryption(password))

    def pem(self, password: str = "") -> bytes:
        """Return key and chain, in the form of a keystore of type PEM."""
        return self.key_pem(password) + self.certificate_pem + self.issuer.public_bytes(Encoding.PEM)

    def pkcs12(self, password: str) -> bytes:
        """Return the same as a keystore of type PKCS12."""
        return pkcs12.serialize_key_and_certificates(
            b"it", self.key, self.certificate, [self.issuer], _encryption(password)
        )


class Authority:
    """Issues and revokes certificates."""

    def __init__(self, name: str = "test authority") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.now(UTC)
        self.certificate = (
            x509.CertificateBuilder()
            .subject_name(self._name)
            .issuer_name(self._name)
            .public_key(self._key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 30 * _DAY)
            .not_valid_after(now + 3650 * _DAY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, _SHA256)
        )

    @property
    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)

    def issue(
        self,
        name: str | x509.Name,
        *,
        hosts: Sequence[str] = ("localhost", "127.0.0.1"),
        valid_days: tuple[int, int] = (-1, 365),
        is_rsa: bool = False,
    ) -> Certified:
        """Sign a certificate for a new key.

        Args:
            name: The subject: a common name, or a whole distinguished name.
            hosts: The host names and addresses in the certificate.
            valid_days: Start and end of validity, in days from now; (-2, -1) has expired.
        """
        key: Key = rsa.generate_private_key(65537, 2048) if is_rsa else ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) if isinstance(name, str) else name
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + valid_days[0] * _DAY)
            .not_valid_after(now + valid_days[1] * _DAY)
            .add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
                critical=False,
            )
        )
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName([_general_name(host) for host in hosts]), False)
        return Certified(key, builder.sign(self._key, _SHA256), self.certificate)

    def revocations(self, revoked: Sequence[Certified], *, days: int = 365) -> bytes:
        """Return the revocation list in PEM; its next update is due in this many days."""
        now = datetime.now(UTC)
        builder = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(self._name)
            .last_update(now + min(days - 1, -1) * _DAY)
            .next_update(now + days * _DAY)
        )
        for each in revoked:
            builder = builder.add_revoked_certificate(
                x509.RevokedCertificateBuilder()
                .serial_number(each.certificate.serial_number)
                .revocation_date(now - _DAY)
                .build()
            )
        return builder.sign(self._key, _SHA256).public_bytes(Encoding.PEM)


def _encryption(password: str) -> KeySerializationEncryption:
    return BestAvailableEncryption(password.encode()) if password else NoEncryption()


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
