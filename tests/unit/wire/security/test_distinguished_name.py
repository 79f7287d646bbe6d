"""Distinguished names as Java prints them; what is expected here is what Java 17's X500Principal.getName says."""

import random

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from barnabas.testing.certificates import Authority
from barnabas.wire.security.tls.distinguished_name import name, subject


@pytest.mark.parametrize(
    ("der", "text"),
    [
        ("3000", ""),
        # Several values of one RDN, escapes at the ends, a NUL.
        (
            "305c310a30080603550407020105312b300a060355040714033c2000300e060355040704073c2220200a2340300d06035504081b"
            "062c235f20205c3121301206092a864886f70d0109011305625f5c5a62300b06035504071c042b5c3f3f",
            "1.2.840.113549.1.9.1=#1305625f5c5a62+L=#1c042b5c3f3f,"
            "L=\\< \\00+L=#04073c2220200a2340+ST=\\,\\#_  \\\\,L=#020105",
        ),
        # An address of mail has no keyword there.
        (
            "3032310c300a060355040a1c033e3f2f3110300e06092a864886f70d0109011b013c3110300e06092a864886f70d0109010c0140",
            "1.2.840.113549.1.9.1=#0c0140,1.2.840.113549.1.9.1=#1b013c,O=#1c033e3f2f",
        ),
        (
            "304b31363014060a0992268993f22c6401190c06c3a9e6bca220301306035504041e0c002ad83dde000022003b006130090603"
            "550405130209403111300f060a0992268993f22c6401191c015a",
            "DC=#1c015a,DC=é漢\\ +2.5.4.4=#1e0c002ad83dde000022003b0061+2.5.4.5=#13020940",
        ),
    ],
)
def test_names_are_printed_as_java_does(der, text):
    assert name(bytes.fromhex(der)) == text


def test_the_subject_of_a_certificate():
    parts = [
        (NameOID.COUNTRY_NAME, "IT"),
        (NameOID.ORGANIZATION_NAME, "Acme, Inc."),
        (NameOID.COMMON_NAME, "Bob Ünï"),
        (NameOID.EMAIL_ADDRESS, "bob@acme.example"),
    ]
    whose = x509.Name([x509.NameAttribute(oid, value) for oid, value in parts])
    certified = Authority().issue(whose)
    assert (
        subject(certified.certificate_der)
        == f"1.2.840.113549.1.9.1=#1610{b'bob@acme.example'.hex()},CN=Bob Ünï,O=Acme\\, Inc.,C=IT"
    )


def test_what_is_no_certificate_is_refused_and_never_more_than_that():
    seed = random.randrange(1 << 32)
    dice = random.Random(seed)
    good = Authority().issue("bob").certificate_der
    for _ in range(2_000):
        data = bytearray(good[: dice.randrange(len(good) + 1)])
        for _ in range(dice.randrange(4)):
            if data:
                data[dice.randrange(len(data))] = dice.randrange(256)
        try:
            subject(bytes(data))
        except ValueError:
            pass
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
    for other in (b"", b"\x30", b"\x30\x80", b"\x30\x84\xff\xff\xff\xff", b"\x04\x00"):
        with pytest.raises(ValueError, match="no "):
            subject(other)
