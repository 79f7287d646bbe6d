"""One form for each address, so that rules, counts, logs and figures mean the same peer by the same text. Pure.

| address | its form |
| --- | --- |
| IPv4 | as it is: 127.0.0.1 |
| IPv4 through a socket of IPv6 (::ffff:127.0.0.1) | that of IPv4 |
| IPv6 | eight groups in hexadecimal, none left out and none padded: 0:0:0:0:0:0:0:1 |
| IPv6 that is valid on one link alone | the same, % and the link: fe80:0:0:0:0:0:0:1%2 |

Source: java.net.InetAddress.getHostAddress, which is what Kafka compares the host of an access rule with.
"""


def canonical_address(text: str) -> str:
    """The one form of an address; what is none, as a name or `*`, stays as it is."""
    if ":" not in text:
        return text
    # Here: a broker of which no IPv6 is asked starts without it.
    from ipaddress import IPv6Address

    try:
        address = IPv6Address(text)
    except ValueError:
        return text
    mapped = address.ipv4_mapped
    if mapped is not None:
        return str(mapped)
    packed = address.packed
    groups = ":".join(f"{packed[at] << 8 | packed[at + 1]:x}" for at in range(0, len(packed), 2))
    return groups if address.scope_id is None else f"{groups}%{address.scope_id}"
