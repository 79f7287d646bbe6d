"""Whether a request's Host is one of ours, and whether a request comes from a page of ours. Pure.

A stranger's page whose name begins to lead here (DNS rebinding) has the browser send that name: a name is taken only
where it is known. An address needs no name, so it can't be led elsewhere, and is always taken.

A POST from elsewhere (CSRF) is told by `Sec-Fetch-Site`, which browsers send and pages can't set; without it by
`Origin`.
"""

from collections.abc import Collection, Mapping
from ipaddress import ip_address


def is_known_host(host: str, names: Collection[str]) -> bool:
    """Return whether a Host header is an address, localhost, or one of these names (lower case)."""
    name = host.lower()
    if name.startswith("["):
        name = name[1:].partition("]")[0]
    elif name.count(":") <= 1:
        name = name.partition(":")[0]
    try:
        ip_address(name)
    except ValueError:
        return name == "localhost" or name in names
    return True


def is_from_own_page(headers: Mapping[str, str], *, is_secure: bool) -> bool:
    """Return whether a request that may change something was made by a page of ours."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    return headers.get("origin") == f"{'https' if is_secure else 'http'}://{headers.get('host', '')}"
