"""Data for the report's tests: everything that it can show, a log's worth; and the same with text that means harm."""

import math
from datetime import date, datetime, timedelta

from barnabas.pipeline.report.data import Alert, Counted, Day, Hour, Item, Lag, Ranking, ReportData, Totals, Verdict

_START = datetime(2015, 5, 17)


def hours(count: int) -> tuple[Hour, ...]:
    """A daily rhythm with an outage, and an hour missing here and there."""
    found = []
    for n in range(count):
        views = round(1_500 + 900 * math.sin((n - 8) / 24 * 2 * math.pi) + 37 * (n % 5))
        if n % 29 != 7:
            failed = views // 3 if n in (40, 41) else n % 3
            found.append(Hour(_START + n * timedelta(hours=1), views, views // 4 + n % 40, views // 50, failed))
    return tuple(found)


def days(count: int) -> tuple[Day, ...]:
    return tuple(
        Day(
            date(2015, 5, 17) + timedelta(days=n),
            36_000 + 900 * n,
            9_100 + 400 * n,
            11_000,
            12_345 + 350 * n,
            7_000,
            10**6,
        )
        for n in range(count)
    )


def ranking(*names: str, most: int = 57_512) -> Ranking:
    top = tuple(Counted(name, most // (n + 1)) for n, name in enumerate(names))
    return Ranking(top, 2 * sum(row.number for row in top))


FULL = ReportData(
    title="Activity report",
    made_at=datetime(2026, 11, 21, 18, 30),
    totals=Totals(
        _START + timedelta(minutes=605),
        _START + timedelta(days=3, hours=21),
        144_512,
        31_862,
        42_608,
        21_846,
        95,
        2_747_282_740,
        3_217,
        1_103,
        39_391,
        2_890,
    ),
    days=days(4),
    hours=hours(84),
    pages=ranking(
        "/",
        "/blog/tags/puppet",
        "/projects/xdotool/",
        "/articles/dynamic-dns-with-dhcp/",
        "/projects/xdotool/xdotool.xhtml",
    ),
    entry_pages=ranking("/blog/tags/puppet", "/", "/articles/ssh-security/"),
    exit_pages=ranking("/", "/projects/xdotool/", "/articles/week-of-unix-tools/"),
    missing_pages=ranking("/files/logstash/logstash-1.3.2-monolithic.jar", "/wp-login.php", most=213),
    referrers=ranking("www.google.com", "stackoverflow.com", "r.duckduckgo.com", "en.wikipedia.org", most=4_228),
    searches=ranking("xdotool examples", "logstash grok", "ssh escape sequence", most=310),
    crawlers=ranking(
        "UniversalFeedParser/4.2-pre-314-svn +http://feedparser.org/",
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        "Tiny Tiny RSS/1.11 (http://tt-rss.org/)",
    ),
    funnel=(Counted("page_view", 31_862), Counted("search", 9_120), Counted("click", 6_034), Counted("vote|post", 812)),
    depth=(Counted("1", 42_608), Counted("2", 20_762), Counted("3", 11_902), Counted("5", 4_077), Counted("10", 903)),
    verdicts=(
        Verdict(
            "203.0.113.77 python-requests/2.32",
            "scraper",
            "1,204 pages in 41 minutes, one every 2.0 s, none of them with a referrer; robots.txt was not read.",
            _START + timedelta(hours=3),
            _START + timedelta(hours=4),
            _START + timedelta(days=7),
        ),
        Verdict(
            "198.51.100.0/24",
            "credential_stuffing",
            "412 user names were tried from 73 addresses within an hour; 2 of them were let in.",
            _START + timedelta(hours=30),
            _START + timedelta(hours=31),
            None,
        ),
    ),
    verdict_count=37,
    alerts=(
        Alert(
            "error share",
            "page-views",
            _START + timedelta(hours=80),
            None,
            "7.4 % of the answers were errors; more than 5 % is too many.",
        ),
        Alert(
            "error share",
            "page-views",
            _START + timedelta(hours=40),
            _START + timedelta(hours=42),
            "33.3 % of the answers were errors; more than 5 % is too many.",
        ),
        Alert(
            "silence",
            "service billing",
            _START + timedelta(hours=55),
            _START + timedelta(hours=55, minutes=12),
            "Nothing was heard for 5 minutes.",
        ),
    ),
    items=(Item("/articles/ssh-security/", 1_204.5, 8_120, 733, 412), Item("post-1812", 88.125, 301, 45, -7)),
    lags=(
        Lag("reporting", "page-views", 0, 1_204),
        Lag("reporting", "page-views", 1, 0),
        Lag("security", "logins", 0, 12),
    ),
)

HOSTILE_TEXT = (
    "<script>document.title='owned'</script>",
    "\"><img src=http://192.0.2.1/x onerror=document.title='owned'>",
    "</style></bdi></td></table><h1 style=position:fixed>X</h1>",
    "/שלום/עולם/\u202eevil\u202c/مرحبا",
    "/" + "a" * 10_240,
    "/" + "漢字" * 5_000,
    "Z̸̢̛͎͕̦̖̪͔̱̱̘̏͂͛̍̾̐̑̈́͜͠ȧ̷̛̰̖̼͎̙̐̇̓̒l̸̡̻̭͚̘̟̓̔͊̾̄g̵̛̞̠̯̜̐̈́̍̓o" * 20,
    "a\x00b\x1b[31mc\r\n\td\x7f\x85",
    "half \ud800 of a character",
    "&lt;&amp;&#x41; 'quotes\" `ticks` {braces}",
    "",
    "   ",
)


def hostile() -> ReportData:
    """All that can be shown, with names that try to break out."""
    names = ranking(*HOSTILE_TEXT)
    moment = _START + timedelta(hours=1)
    return ReportData(
        title=HOSTILE_TEXT[0],
        totals=FULL.totals,
        days=days(1),
        hours=hours(1),
        pages=names,
        entry_pages=names,
        exit_pages=names,
        missing_pages=names,
        referrers=names,
        searches=names,
        crawlers=names,
        funnel=names.top,
        depth=names.top,
        verdicts=tuple(Verdict(text, text, text, moment, moment, moment) for text in HOSTILE_TEXT),
        alerts=tuple(Alert(text, text, moment, None, text) for text in HOSTILE_TEXT),
        items=tuple(Item(text, 1e12, 10**15, 10**15, -(10**15)) for text in HOSTILE_TEXT),
        lags=tuple(Lag(text, text, n, 10**15) for n, text in enumerate(HOSTILE_TEXT)),
    )


EMPTY = ReportData(
    totals=Totals(None, None, 0, 0, 0, 0, None, 0, 0, 0, 0),
    days=(),
    hours=(),
    pages=Ranking((), 0),
    entry_pages=Ranking((), 0),
    exit_pages=Ranking((), 0),
    missing_pages=Ranking((), 0),
    referrers=Ranking((), 0),
    searches=Ranking((), 0),
    crawlers=Ranking((), 0),
    funnel=(),
    depth=(),
    verdicts=(),
    alerts=(),
    items=(),
    lags=(),
)


def long() -> ReportData:
    """Two years, and as many rows as the tables give."""
    from dataclasses import replace

    many = ranking(
        *(f"/articles/{n}/a-page-with-a-rather-long-name-that-says-what-it-is-about-{n}/" for n in range(12))
    )
    return replace(
        FULL, days=days(730), hours=hours(8_784), pages=many, entry_pages=many, exit_pages=many, missing_pages=many,
        verdicts=FULL.verdicts * 12, alerts=FULL.alerts * 16,
        lags=tuple(Lag("reporting", "page-views", n, 10**6 + n) for n in range(100)),
    )  # fmt: skip
