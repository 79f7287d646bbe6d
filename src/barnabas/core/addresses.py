"""Canonical form of addresses, so that rules, counts, logs and metrics use the same text for a peer. Pure.

| address | canonical form |
| --- | --- |
| IPv4 | unchanged: 127.0.0.1 |
| IPv4 through an IPv6 socket (::ffff:127.0.0.1) | the IPv4 address |
| IPv6 | eight groups in hexadecimal, none omitted and none padded: 0:0:0:0:0:0:0:1 |
| link-local IPv6 | the same, % and the link: fe80:0:0:0:0:0:0:1%2 |

Source: java.net.InetAddress.getHostAddress, with which Kafka compares the host of an access rule.
"""


def canonical_address(text: str) -> str:
    """Return an address in canonical form; other texts, such as a name or `*`, stay unchanged."""
    if ":" not in text:
        return text
    # Imported late: a broker without IPv6 peers does not need it.
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
