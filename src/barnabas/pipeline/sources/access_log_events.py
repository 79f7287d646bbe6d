"""Events of a web server's access log (`access_log.py` defines the line format).

Each request line yields a `page_view`, and these events if their conditions are met. A page is *loaded* by a GET with a
status below 400; assets do not count.

- `click`: a page is loaded, and its referrer is a page of this site or shows the results of a search engine. `item` is
  the page, `source` the referrer, `query` the search whose results the referrer shows, if any.
- `search`: a page is loaded whose referrer shows the results of a search engine (`engine` is its name), or this site's
  own search is loaded (no `engine`).
- `login`, failed: the status is 401 or 403. `service` is the path, `reason` is "status 401" or "status 403".
- `login`, succeeded: a POST to a login page has a status of 2xx or 3xx. Exception: a WordPress login with status 200
  has failed, because it shows its form again.

An asset is a file that a browser loads together with a page, recognised by its extension (`.css`, `.png`, ...). A login
page's path ends in `/login`, `/signin` or `/wp-login.php`. This site's own search is a page whose path ends in
`/search` or `/search.` and any extension, or a WordPress search (`/?s=`), with words in its query. This site is the
given host, with or without `www.`; `most_common_site` finds the likely host in a complete log file. Without a host,
clicks within the site are not detected.

A line that is not a request is refused, with the reason. Ids: `<log>:<line>` for the view; the other events append
`:click`, `:search`, `:site-search` or `:login`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import SplitResult, parse_qs, urlsplit

from barnabas.pipeline.events.types import EVENT_TYPES, EventType
from barnabas.pipeline.sources.access_log import LONGEST_LINE, View, parse_line, read_lines
from barnabas.pipeline.sources.log_lines import RawLine, Refused, SourceLine

PAGE_VIEW, CLICK, SEARCH, LOGIN = (EVENT_TYPES[name] for name in ("page_view", "click", "search", "login"))
ACCESS_LOG_EVENTS = (PAGE_VIEW, CLICK, SEARCH, LOGIN)

# Name, pattern of the host, and query parameters that may contain the search words.
_ENGINES = tuple(
    (name, re.compile(rf"(?:.*\.)?{host}", re.ASCII), parameters)
    for name, host, parameters in (
        ("google", r"google(?:\.com?)?\.[a-z]{2,3}", ("q", "as_q")),
        ("bing", r"bing\.com", ("q",)),
        ("yahoo", r"search\.yahoo\.(?:com|co\.jp)", ("p",)),
        ("duckduckgo", r"duckduckgo\.com", ("q",)),
        ("yandex", r"yandex\.[a-z]{2,3}(?:\.tr)?", ("text", "query")),
        ("baidu", r"baidu\.com", ("wd", "word")),
        ("ecosia", r"ecosia\.org", ("q",)),
        ("startpage", r"startpage\.com", ("query", "q")),
        ("brave", r"search\.brave\.com", ("q",)),
        ("qwant", r"qwant\.com", ("q",)),
        ("ask", r"ask\.com", ("q",)),
        ("aol", r"search\.aol\.[a-z.]{2,6}", ("q", "query")),
        ("naver", r"search\.naver\.com", ("query",)),
        ("seznam", r"search\.seznam\.cz", ("q",)),
        ("sogou", r"sogou\.com", ("query", "keyword")),
    )
)
_OWN_PARAMETERS = ("q", "query", "s", "search", "text", "term", "keyword", "keywords", "words", "wd", "p")
_ASSET = re.compile(
    r".*\.(?:css|js|mjs|map|json|png|jpe?g|gif|svg|ico|webp|avif|bmp|woff2?|ttf|otf|eot|mp3|mp4|webm|ogg|wasm)",
    re.IGNORECASE | re.DOTALL,
)
_OWN_SEARCH = re.compile(r".*/search/?|.*/search\.[a-z]+", re.IGNORECASE | re.DOTALL)
_LOGIN_PAGES = frozenset(("login", "signin", "wp-login.php"))
# A query with more fields is not a search.
_MAX_FIELDS = 100


def access_log_lines(lines: Iterable[RawLine], site: str | None = None) -> Iterator[SourceLine]:
    """Yield each line's events, or the refused line; `site` is this site's own host, if it is known."""
    site = _bare_host(site or "")
    time_ms: int | None = None
    for line in lines:
        view = parse_line(line.number, line.text)
        refused = None if view is not None else Refused(line.text, _why_refused(line.text))
        # A refused line has the time of the previous line, so that a partition's times don't jump.
        time_ms = view.time_s * 1000 if view is not None else time_ms
        events = _events(view, f"{line.log}:{line.number}", site) if view is not None else []
        yield SourceLine(line.log, line.number, time_ms, events, refused, line.is_last_for_now)


def most_common_site(path: Path) -> str | None:
    """Return the most common referrer host in a log, search engines excluded; None if no view has one.

    Of equally common hosts, return the first in alphabetical order.
    """
    counts: Counter[str] = Counter()
    for number, text in read_lines(path):
        view = parse_line(number, text)
        host = _host_of(_split(view.referrer)) if view is not None and view.referrer else ""
        if host and not any(pattern.fullmatch(host) for _, pattern, _ in _ENGINES):
            counts[host] += 1
    return min(counts, key=lambda host: (-counts[host], host), default=None)


def _events(view: View, place: str, site: str) -> list[tuple[EventType, dict[str, object]]]:
    visitor: dict[str, object] = {
        "time": datetime.fromtimestamp(view.time_s, UTC),
        "address": view.address,
        "user": view.user,
        "agent": view.agent,
    }
    request = {"method": view.method, "page": view.page, "status": view.status, "bytes": view.size_bytes}
    events: list[tuple[EventType, dict[str, object]]] = [
        (PAGE_VIEW, {"id": place, **visitor, **request, "referrer": view.referrer})
    ]
    target = _split(view.page)
    path = target.path if target is not None else view.page.partition("?")[0]
    if view.method == "GET" and view.status < 400 and not _ASSET.fullmatch(path):
        events += _found_pages(view, place, visitor, target, site)
    login = _login(view, path)
    if login is not None:
        events.append((LOGIN, {"id": f"{place}:login", **visitor, **login}))
    return events


def _found_pages(
    view: View, place: str, visitor: dict[str, object], target: SplitResult | None, site: str
) -> Iterator[tuple[EventType, dict[str, object]]]:
    referrer = _split(view.referrer) if view.referrer else None
    results = _results(referrer, site) if referrer is not None else None
    query, engine = results or (None, None)
    if engine is not None:
        yield SEARCH, {"id": f"{place}:search", **visitor, "query": query, "engine": engine}
    is_ours = bool(site) and _host_of(referrer) == site
    if results is not None or is_ours:
        click = {"item": view.page, "source": view.referrer, "query": query}
        yield CLICK, {"id": f"{place}:click", **visitor, **click}
    own_query = _own_query(target) if target is not None else None
    if own_query is not None:
        yield SEARCH, {"id": f"{place}:site-search", **visitor, "query": own_query}


def _results(referrer: SplitResult, site: str) -> tuple[str, str | None] | None:
    """Return (query, engine) of the search whose results the page shows; the engine of this site's search is None."""
    host = _host_of(referrer)
    if site and host == site:
        query = _own_query(referrer)
        return None if query is None else (query, None)
    for name, pattern, parameters in _ENGINES:
        if pattern.fullmatch(host):
            query = _words(referrer, parameters)
            # In Google's redirects from mails and documents, `q` is the target's address.
            is_address = query is not None and referrer.path == "/url" and query.startswith(("http://", "https://"))
            return None if query is None or is_address else (query, name)
    return None


def _own_query(page: SplitResult) -> str | None:
    if _OWN_SEARCH.fullmatch(page.path):
        return _words(page, _OWN_PARAMETERS)
    return _words(page, ("s",)) if page.path.endswith("/") else None


def _words(page: SplitResult, parameters: tuple[str, ...]) -> str | None:
    """Return the first value of these parameters that is not blank."""
    try:
        found = parse_qs(page.query, max_num_fields=_MAX_FIELDS)
    except ValueError:
        return None
    for parameter in parameters:
        for value in found.get(parameter, ()):
            if words := " ".join(value.split()):
                return words
    return None


def _login(view: View, path: str) -> dict[str, object] | None:
    if view.status in (401, 403):
        return {"is_success": False, "service": path, "reason": f"status {view.status}"}
    page = path.rstrip("/").rpartition("/")[2].lower()
    if view.method != "POST" or page not in _LOGIN_PAGES or not 200 <= view.status < 400:
        return None
    if page == "wp-login.php" and view.status == 200:
        return {"is_success": False, "service": path, "reason": "the form was shown again"}
    return {"is_success": True, "service": path}


def _split(address: str) -> SplitResult | None:
    """Split a URL; return None if it is invalid."""
    try:
        return urlsplit(address)
    except ValueError:
        return None


def _host_of(address: SplitResult | None) -> str:
    """Return the host of a URL in lower case, without `www.`; empty if it has none."""
    try:
        return _bare_host(address.hostname or "") if address is not None else ""
    except ValueError:
        return ""


def _bare_host(host: str) -> str:
    return host.lower().removeprefix("www.")


def _why_refused(text: str) -> str:
    if len(text) > LONGEST_LINE:
        return f"the line has more than {LONGEST_LINE} characters"
    return "the line is not a request in the combined or common format" if text.strip() else "the line is empty"
