"""Events out of an access log: what a line gives, and that every line gives something or is refused."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.pipeline.events.encode import encode_json
from barnabas.pipeline.sources.access_log_events import access_log_lines, most_common_site
from barnabas.pipeline.sources.log_lines import RawLine, SourceLine, file_lines
from barnabas.pipeline.sources.social import SITE as MADE_UP_SITE
from barnabas.pipeline.sources.social import SitePlan
from barnabas.pipeline.sources.social import access_log_lines as made_up_lines

SITE = "theatre.example"


def line(page: str = "/news", referrer: str = "-", *, method: str = "GET", status: int = 200, user: str = "-") -> str:
    request = f'"{method} {page} HTTP/1.1" {status} 5 "{referrer}" "Agent/1.0"'
    return f"192.0.2.1 - {user} [17/May/2015:12:05:03 +0200] {request}"


def read(*texts: str, site: str | None = SITE) -> list[SourceLine]:
    lines = [RawLine("0123456789ab", number, text) for number, text in enumerate(texts, start=1)]
    return list(access_log_lines(lines, site))


def kinds(found: SourceLine) -> list[str]:
    return [event_type.name for event_type, _ in found.events]


def fields_of(found: SourceLine, kind: str) -> dict[str, object]:
    return next(fields for event_type, fields in found.events if event_type.name == kind)


def test_view_has_what_is_logged() -> None:
    (found,) = read(line(user="frank", referrer="http://a.example/?x=1", status=404))
    assert kinds(found) == ["page_view"]
    view, fields = found.events[0]
    assert encode_json(view, fields).decode() == (
        '{"type":"page_view","version":1,"id":"0123456789ab:1","time":"2015-05-17T10:05:03Z","address":"192.0.2.1",'
        '"user":"frank","method":"GET","page":"/news","status":404,"bytes":5,"referrer":"http://a.example/?x=1",'
        '"agent":"Agent/1.0"}'
    )
    assert found.time_ms == 1431857103000


@pytest.mark.parametrize(
    ("page", "referrer", "query"),
    [
        ("/plays", "https://theatre.example/", None),
        ("/plays", "http://www.theatre.example:8080/", None),
        ("/plays", "HTTP://THEATRE.EXAMPLE/", None),
        ("/plays", "https://theatre.example/search?q=the+castle&page=2", "the castle"),
        ("/plays", "https://theatre.example/search.php?query=%C3%A9", "é"),
        ("/plays", "https://theatre.example/blog/?s=x", "x"),
    ],
)
def test_page_that_was_got_from_this_site_is_a_click(page: str, referrer: str, query: str | None) -> None:
    (found,) = read(line(page, referrer))
    click = fields_of(found, "click")
    assert (click["id"], click["item"], click["source"]) == ("0123456789ab:1:click", page, referrer)
    assert click["query"] == query
    assert kinds(found) == ["page_view", "click"]


@pytest.mark.parametrize(
    "text",
    [
        line("/logo.svg", "https://theatre.example/"),
        line("/style.CSS?v=1", "https://theatre.example/"),
        line("/logo.png", "https://www.google.com/search?q=logo"),
        line("/plays", "https://theatre.example/", method="POST"),
        line("/plays", "https://theatre.example/", status=404),
        line("/plays", "https://other.example/"),
        line("/plays", "https://theatre.example.evil.example/"),
        line("/plays", "theatre.example"),
        line("/plays", "http://[::1"),
        line("/plays", "https://www.google.com/"),
        line("/plays", "https://www.google.com/url?sa=t&q="),
        line("/plays", "https://www.google.com/url?q=https://theatre.example/plays"),
        line("/plays", "https://www.google.evil.example/search?q=x"),
        line("/plays", "https://notgoogle.com/search?q=x"),
        line("/plays", "https://www.google.com/search?" + "q&" * 1000 + "q=x"),
    ],
)
def test_what_nobody_clicked_on_is_a_view_alone(text: str) -> None:
    assert kinds(read(text)[0]) == ["page_view"]


@pytest.mark.parametrize(
    ("referrer", "query", "engine"),
    [
        ("https://www.google.com/search?hl=en&q=franz+kafka", "franz kafka", "google"),
        ("http://www.google.co.uk/url?sa=t&q=castle&url=http%3A%2F%2Fx", "castle", "google"),
        ("http://google.com.au/search?q=%22the%20castle%22", '"the castle"', "google"),
        ("http://images.google.de/imgres?q=x", "x", "google"),
        ("http://www.bing.com/search?q=kafka&form=MSNH14", "kafka", "bing"),
        ("http://uk.search.yahoo.com/search;_ylt=A?p=kafka&fr=x", "kafka", "yahoo"),
        ("https://duckduckgo.com/?q=kafka", "kafka", "duckduckgo"),
        ("http://yandex.ru/yandsearch?text=%D0%B7%D0%B0%D0%BC%D0%BE%D0%BA", "замок", "yandex"),
        ("http://www.baidu.com/s?wd=kafka", "kafka", "baidu"),
        ("http://www.ask.com/web?q=%FF%FE", "��", "ask"),
    ],
)
def test_referrer_with_results_of_an_engine_is_a_search_and_a_click(referrer: str, query: str, engine: str) -> None:
    (found,) = read(line("/plays", referrer), site=None)
    assert kinds(found) == ["page_view", "search", "click"]
    search, click = fields_of(found, "search"), fields_of(found, "click")
    assert (search["id"], search["query"], search["engine"]) == ("0123456789ab:1:search", query, engine)
    assert (click["query"], click["item"], click["source"]) == (query, "/plays", referrer)


def test_the_sites_own_search_is_a_search_without_an_engine() -> None:
    search = fields_of(read(line("/search?q=++the++castle+"), site=None)[0], "search")
    assert (search["id"], search["query"], search.get("engine")) == ("0123456789ab:1:site-search", "the castle", None)
    assert kinds(read(line("/search?q="))[0]) == ["page_view"]
    assert kinds(read(line("/research?q=x"))[0]) == ["page_view"]


@pytest.mark.parametrize(
    ("text", "is_success", "service", "reason"),
    [
        (line("/admin?x=1", status=401), False, "/admin", "status 401"),
        (line("/admin", status=403, method="HEAD"), False, "/admin", "status 403"),
        (line("/login?next=/", status=302, method="POST"), True, "/login", None),
        (line("/user/login/", status=200, method="POST"), True, "/user/login/", None),
        (line("/wp-login.php", status=302, method="POST"), True, "/wp-login.php", None),
        (line("/wp-login.php", status=200, method="POST"), False, "/wp-login.php", "the form was shown again"),
    ],
)
def test_logins(text: str, is_success: bool, service: str, reason: str | None) -> None:
    (found,) = read(text)
    login = fields_of(found, "login")
    assert (login["is_success"], login["service"], login.get("reason")) == (is_success, service, reason)
    assert login["id"] == "0123456789ab:1:login"


@pytest.mark.parametrize(
    "text", [line("/login"), line("/login", method="POST", status=500), line("/xmlrpc.php", method="POST")]
)
def test_what_is_no_login(text: str) -> None:
    assert kinds(read(text)[0]) == ["page_view"]


def test_what_is_no_request_is_refused_with_its_text_and_the_time_before_it() -> None:
    found = read("", line(), "what?", "x" * 70_000)
    assert [(each.refused and each.refused.reason) for each in found] == [
        "the line is empty",
        None,
        "the line is not a request in the combined or common format",
        "the line has more than 65536 characters",
    ]
    assert found[2].refused is not None
    assert found[2].refused.text == "what?"
    assert [each.time_ms for each in found] == [None, 1431857103000, 1431857103000, 1431857103000]


def check_each_line_is_a_view_or_refused(found: Iterable[SourceLine], line_count: int) -> tuple[int, int]:
    view_count = refused_count = 0
    for each in found:
        assert (each.refused is None) == (kinds(each)[:1] == ["page_view"])
        view_count += kinds(each).count("page_view")
        refused_count += each.refused is not None
        for event_type, fields in each.events:
            encode_json(event_type, fields)
    assert view_count + refused_count == line_count
    return view_count, refused_count


PIECES = st.sampled_from(
    ["192.0.2.1", " ", "-", "[17/May/2015:10:05:03 +0000]", '"', "GET", "/search?q=", "http://", "[", "google.com", "%"]
)


@given(st.lists(st.one_of(st.text(), st.lists(PIECES).map("".join), st.just(line())), max_size=8))
def test_any_line_is_a_view_or_refused(texts: list[str]) -> None:
    check_each_line_is_a_view_or_refused(read(*texts), len(texts))


@given(st.text(st.characters(exclude_characters=' "\\', exclude_categories=["Cc", "Cs"]), min_size=1), st.text())
def test_any_page_and_referrer_give_events(page: str, referrer: str) -> None:
    referrer = referrer.replace('"', "").replace("\\", "")
    for address in (referrer, f"https://google.com/search?{referrer}", f"https://theatre.example/{referrer}"):
        check_each_line_is_a_view_or_refused(read(line(page, address)), 1)


def test_every_line_of_the_sample_is_a_view_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    views = list(made_up_lines(SitePlan(duration_s=300)))
    path.write_text("".join(f"{text}\n" for text in [*views, "what?", *views]))
    site = most_common_site(path)
    assert site == MADE_UP_SITE
    found = access_log_lines(file_lines(path), site)
    assert check_each_line_is_a_view_or_refused(found, 2 * len(views) + 1) == (2 * len(views), 1)


def test_every_line_of_the_real_log_is_a_view_or_refused(real_access_log: Path) -> None:
    site = most_common_site(real_access_log)
    found = list(access_log_lines(file_lines(real_access_log), site))
    line_count = sum(1 for _ in file_lines(real_access_log))
    check_each_line_is_a_view_or_refused(found, line_count)
    seen = {kind for each in found for kind in kinds(each)}
    assert {"page_view", "click", "search"} <= seen
