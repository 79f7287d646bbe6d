"""Checks of a request's Host header and of its origin. Pure.

In DNS rebinding, an attacker's host name resolves to this server, and the browser sends that name: so only known names
are accepted. An address involves no name, cannot be redirected, and is always accepted.

`Sec-Fetch-Site`, which browsers send and pages cannot set, tells whether another site sent a request; without it
`Origin` does. Another site may send no POST (CSRF) and no GET that costs work or connections; it may link to the start
page.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from ipaddress import ip_address
from typing import Final

# `/` redirects there, and browsers still call that redirect cross-site.
_START_PAGE: Final = re.compile(r"/(login|c/[^/]+/?)?")


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
    """Return whether a request that may change state comes from the page itself."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    return headers.get("origin") == _own_origin(headers, is_secure)


def may_ask(headers: Mapping[str, str], path: str, *, is_secure: bool) -> bool:
    """Return whether a GET is allowed: another site may link only to the start page, the same site to any page."""
    site = headers.get("sec-fetch-site")
    if site is None:
        return headers.get("origin") in (None, _own_origin(headers, is_secure))
    if site in ("same-origin", "none"):
        return True
    is_link = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == ("navigate", "document")
    return is_link and (site == "same-site" or _START_PAGE.fullmatch(path) is not None)


def forwarded_address(peer: str, forwarded_for: Sequence[str]) -> str:
    """Return the last address in a proxy's X-Forwarded-For headers; the proxy's own if there is none."""
    return ",".join(forwarded_for).rpartition(",")[2].strip()[:64] or peer


def _own_origin(headers: Mapping[str, str], is_secure: bool) -> str:
    return f"{'https' if is_secure else 'http'}://{headers.get('host', '')}"
