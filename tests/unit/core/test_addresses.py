"""Each address has one form, that of Java's getHostAddress."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.core.addresses import canonical_address


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::ffff:127.0.0.1", "127.0.0.1"),
        ("::FFFF:7f00:1", "127.0.0.1"),
        ("0:0:0:0:0:ffff:7f00:0001", "127.0.0.1"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("::", "0:0:0:0:0:0:0:0"),
        ("2001:DB8::00ff", "2001:db8:0:0:0:0:0:ff"),
        # Java knows no other IPv4 within IPv6.
        ("::1.2.3.4", "0:0:0:0:0:0:102:304"),
        ("fe80::1%2", "fe80:0:0:0:0:0:0:1%2"),
        ("*", "*"),
        ("broker.example", "broker.example"),
        ("no:address", "no:address"),
        ("::1%", "::1%"),
        ("", ""),
    ],
)
def test_the_form_of(text: str, form: str) -> None:
    assert canonical_address(text) == form


@given(st.ip_addresses())
def test_however_it_is_written_an_address_has_one_form(address: IPv4Address | IPv6Address) -> None:
    form = canonical_address(str(address))
    assert {canonical_address(each) for each in (address.exploded, address.exploded.upper(), form)} == {form}
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    assert ip_address(form) == (mapped or address)
