"""Checks each request before a page is computed.

    it comes through the proxy, if one is configured
    its Host is known, and it has at most 64 headers
    a GET was not sent by another site, unless it is a link to the start page
    a POST is small, arrives in time, and comes from the page's own form with the session's token

Responses have headers that keep a browser from running scripts, framing the page, or leaking data.

In DNS rebinding, an attacker's host name resolves to this server, and the browser sends that name. Therefore only known
host names are accepted. IP addresses are always accepted, because they do not use DNS.

`Sec-Fetch-Site`, which browsers send and pages cannot set, shows whether another site sent a request; without it
`Origin` is used. Requests from another site are refused, both POST (CSRF) and GET (work and connections), except links
to the start page.
"""

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from ipaddress import ip_address
from typing import Final
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from barnabas.page.authentication.sessions import Sessions
from barnabas.page.settings import Settings

MOST_HEADERS: Final = 64
MOST_BODY_BYTES: Final = 65_536
_MOST_FIELDS: Final = 200
_BODY_WITHIN_S: Final = 10.0
_FORM: Final = "application/x-www-form-urlencoded"

SECURITY_HEADERS: Final = {
    "content-security-policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class _RefusedError(Exception):
    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class RequestChecks:
    """An ASGI middleware that checks requests.

    An accepted request has in its `state`: `session`, `session_id`, `address` and, for a POST, `form`.
    """

    def __init__(self, app: ASGIApp, settings: Settings, sessions: Sessions, cookie: str) -> None:
        self._app = app
        self._settings = settings
        self._sessions = sessions
        self._cookie = cookie
        self._hosts = frozenset(each.lower() for each in settings.host_names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers[name] = value
                if self._settings.is_secure:
                    headers["strict-transport-security"] = "max-age=31536000"
                headers.setdefault("cache-control", "no-store")
                if "://" in (location := headers.get("location", "")):
                    # The router uses its own scheme and path for redirects, but a proxy may have changed both. A path
                    # that begins with two slashes would redirect to another host.
                    parts = urlsplit(location)
                    path = f"{self._settings.root_path}/{parts.path.lstrip('/')}"
                    headers["location"] = urlunsplit(("", "", path, parts.query, ""))
            await send(message)

        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            await self._check(request)
        except _RefusedError as refused:
            await PlainTextResponse(f"{refused.reason}\n", refused.status)(scope, receive, send_guarded)
            return
        await self._app(scope, receive, send_guarded)

    async def _check(self, request: Request) -> None:
        headers = request.headers
        address = self._address(request)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not is_known_host(hosts[0], self._hosts):
            raise _RefusedError(421, "This host name is unknown: use the address, or start the page with --host-name.")
        if len(headers) > MOST_HEADERS:
            raise _RefusedError(431, "The request has too many headers.")
        session_id = request.cookies.get(self._cookie)
        request.state.address = address
        request.state.session_id = session_id
        request.state.session = self._sessions.of(session_id)
        match request.method:
            case "GET" | "HEAD":
                if not may_ask(headers, request.scope["path"], is_secure=self._settings.is_secure):
                    raise _RefusedError(403, "Another site sent this request: open the address in a window of its own.")
            case "POST":
                await self._check_post(request, headers)
            case _:
                raise _RefusedError(405, "This method is not supported.")

    def _address(self, request: Request) -> str:
        """Return the client's address; behind a proxy, the last address in X-Forwarded-For."""
        peer = "" if request.client is None else request.client.host
        if self._settings.trusted_proxy is None:
            return peer
        if peer != self._settings.trusted_proxy:
            raise _RefusedError(403, "Requests must come through the proxy.")
        return forwarded_address(peer, request.headers.getlist("x-forwarded-for"))

    async def _check_post(self, request: Request, headers: Headers) -> None:
        if not is_from_own_page(headers, is_secure=self._settings.is_secure):
            raise _RefusedError(403, "Another site sent this form.")
        if headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
            raise _RefusedError(415, "The body must be a form.")
        request.state.form = _fields(await _body(request))
        if not request.state.session.has_token(request.state.form.get("csrf", "")):
            raise _RefusedError(403, "This form has expired: go back, reload the page, and send it again.")


async def _body(request: Request) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_WITHIN_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MOST_BODY_BYTES:
                    raise _RefusedError(413, "The form is too large.")
    except TimeoutError:
        raise _RefusedError(408, "The request took too long.") from None
    return bytes(body)


def _fields(body: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except (ValueError, UnicodeError):
        raise _RefusedError(400, "The form is malformed.") from None
    return dict(pairs)


# `/` redirects to these paths; browsers still report the redirect as cross-site.
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
    """Return the last address in a proxy's X-Forwarded-For headers; without one, the proxy's own address."""
    return ",".join(forwarded_for).rpartition(",")[2].strip()[:64] or peer


def _own_origin(headers: Mapping[str, str], is_secure: bool) -> str:
    return f"{'https' if is_secure else 'http'}://{headers.get('host', '')}"
