"""Fair shares: when a limit is reached, the owner with the most entries loses its oldest one. Pure."""

from collections import Counter
from collections.abc import Hashable, Mapping
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Final, TypeVar

K = TypeVar("K")

_HOST_BITS: Final = 64


@lru_cache(maxsize=4_096)
def share_of(address: str) -> str:
    """Return the owner of connections from an address: the address, or the /64 network of an IPv6 address."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(IPv6Address(int(found) >> _HOST_BITS << _HOST_BITS))
    return str(found)


def first_to_go(owners: Mapping[K, Hashable], newcomer: Hashable) -> K:
    """Return the entry to remove for a new entry of `newcomer`: the first entry of the owner with the most.

    Args:
        owners: The owner of each entry, in the order in which entries should be removed; not empty.
    """
    counts = Counter(owners.values())
    counts[newcomer] += 1
    most = max(counts[each] for each in owners.values())
    return next(entry for entry, owner in owners.items() if counts[owner] == most)
