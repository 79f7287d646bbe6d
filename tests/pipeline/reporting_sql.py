"""The reporting job's tables once more, in DuckDB's SQL, straight from the lines of an access log.

It shares nothing with the job: lines are taken apart by DuckDB (RE2), times by its `strptime`; what the job counts with
windows and arrays is counted here with joins and distinct counts. Events other than page views come from a table
`others` of literal rows; where there is none it is empty.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

Rows = list[tuple[Any, ...]]

# A character that ends a line's being a view.
_C = r"\x00-\x1f\x7f"

_OTHERS = """
CREATE TABLE others (
    type VARCHAR, id VARCHAR, time TIMESTAMP, address VARCHAR, agent VARCHAR, item VARCHAR, query VARCHAR,
    service VARCHAR, is_success BOOLEAN, result_count INTEGER
);
"""

_LINES = r"""
CREATE TABLE lines AS
SELECT number, regexp_replace(text, '\r+$', '') AS text
FROM (SELECT string_split(content, chr(10)) AS pieces FROM read_text($path)),
    LATERAL (SELECT unnest(pieces) AS text, generate_subscripts(pieces, 1) AS number)
WHERE text <> '' OR number < len(pieces);
"""

# address, identity, user and the rest are cut off one after the other, from the front.
_VIEWS = rf"""
CREATE TABLE parts AS
SELECT *, regexp_extract(behind, '^.{{26}}\] "((?:[^"\\{_C}]|\\[^{_C}])*)" ([0-9]{{3}}) ([0-9]{{1,18}}|-)( .*|)$',
    ['request', 'status', 'size', 'rest'], 's') AS found,
    regexp_extract(struct_extract(found, 'rest'), '^ ("((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)")',
        ['all', 'referrer', 'agent'], 's') AS tail
FROM (
    SELECT number, address, rest[: strpos(rest, ' [') - 1] AS user_name, rest[strpos(rest, ' [') + 2 :] AS behind
    FROM (
        SELECT number, regexp_extract(text, '^([^ {_C}]+) [^ {_C}]+ ', 1) AS address,
            regexp_replace(text, '^[^ {_C}]+ [^ {_C}]+ ', '') AS rest
        FROM lines WHERE length(text) <= 65536
    )
    WHERE address <> '' AND strpos(rest, ' [') > 1
)
WHERE NOT regexp_matches(user_name, '[{_C}]');

CREATE TABLE views AS
SELECT number, address, local - to_minutes(zone) AS time, method, page, status, size, referrer, agent
FROM (
    SELECT number, address,
        CASE WHEN regexp_matches(behind, '^[0-9]{{2}}/(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)/[0-9]{{4}}'
                || '(:[0-9]{{2}}){{3}} [+-]([01][0-9]|2[0-3])[0-5][0-9]\]')
            THEN try_strptime(behind[:20], '%d/%b/%Y:%H:%M:%S') END AS local,
        (CASE behind[22] WHEN '-' THEN -1 ELSE 1 END)
            * (60 * try_cast(behind[23:24] AS INTEGER) + try_cast(behind[25:26] AS INTEGER)) AS zone,
        regexp_extract(found.request, '^[A-Za-z]+') AS method,
        regexp_extract(found.request, '^[A-Za-z]+ ([^ ]+)( HTTP/[0-9.]+)?$', 1) AS page,
        try_cast(found.status AS INTEGER) AS status,
        CASE found.size WHEN '-' THEN 0 ELSE try_cast(found.size AS BIGINT) END AS size,
        CASE WHEN tail.all <> '' AND tail.referrer <> '-' THEN tail.referrer END AS referrer,
        CASE tail.agent WHEN '-' THEN '' ELSE tail.agent END AS agent
    FROM parts WHERE found.status <> ''
)
WHERE page <> '' AND year(time) BETWEEN 1970 AND 2999;

CREATE VIEW requests AS
SELECT number, time, CAST(time AS DATE) AS day, address, agent, (address, agent) AS visitor, status, size,
    string_split_regex(page, '[?#]')[1] AS page, referrer,
    list_contains(getvariable('found'), concat_ws(' ', address, agent)) AS is_found,
    is_found OR regexp_matches(agent, getvariable('crawlers')) AS is_crawler,
    is_found OR is_crawler AND NOT getvariable('count_crawlers') AS is_left_out,
    regexp_matches(string_split_regex(page, '[?#]')[1], getvariable('assets')) AS is_asset
FROM views;

CREATE VIEW audience AS SELECT * FROM requests WHERE NOT is_left_out;

CREATE VIEW events AS
SELECT type, time, CAST(time AS DATE) AS day, address, agent, (address, agent) AS visitor, subject, query, is_success,
    result_count, list_contains(getvariable('found'), concat_ws(' ', address, agent)) AS is_found,
    is_found OR NOT getvariable('count_crawlers') AND regexp_matches(agent, getvariable('crawlers')) AS is_left_out
FROM (
    SELECT 'page_view' AS type, time, address, agent, page AS subject, NULL AS query, NULL AS is_success,
        NULL AS result_count FROM requests
    UNION ALL
    SELECT type, time, address, coalesce(agent, ''),
        CASE type WHEN 'login' THEN service WHEN 'search' THEN plain
            WHEN 'click' THEN string_split_regex(item, '[?#]')[1]
            ELSE item END, plain, is_success, result_count
    FROM (SELECT DISTINCT *, lower(trim(regexp_replace(query, '[ \t\r\n]+', ' ', 'g'))) AS plain FROM others)
);
CREATE VIEW counted AS SELECT * FROM events WHERE NOT is_left_out;

CREATE TABLE visits AS
WITH pages AS (SELECT *, row_number() OVER (PARTITION BY visitor ORDER BY time, number) AS place
        FROM audience WHERE NOT is_asset),
    starts AS (
        SELECT later.visitor, later.place FROM pages AS later LEFT JOIN pages AS earlier
            ON later.visitor = earlier.visitor AND later.place = earlier.place + 1
        WHERE earlier.time IS NULL OR later.time > earlier.time + to_seconds(getvariable('session_gap_s'))),
    of_session AS (
        SELECT pages.*, starts.place AS session FROM pages ASOF JOIN starts
            ON pages.visitor = starts.visitor AND pages.place >= starts.place)
SELECT CAST(min(time) AS DATE) AS day, address, agent, is_crawler, min(time) AS started, max(time) AS ended,
    date_diff('second', min(time), max(time)) AS length_s, count(*) AS pages,
    first(page ORDER BY place) AS entry_page, last(page ORDER BY place) AS exit_page
FROM of_session GROUP BY visitor, address, agent, is_crawler, session;
"""

# What `sources/access_log_events.py` says that a line is beside a view: clicks, searches and logins, into `others`.
_EVENTS_OF_VIEWS = r"""
CREATE TABLE engines (host VARCHAR, parameters VARCHAR[]);
INSERT INTO engines VALUES ('google(\.com?)?\.[a-z]{2,3}', ['q', 'as_q']), ('bing\.com', ['q']),
    ('search\.yahoo\.(com|co\.jp)', ['p']), ('duckduckgo\.com', ['q']), ('baidu\.com', ['wd', 'word']),
    ('yandex\.[a-z]{2,3}(\.tr)?', ['text', 'query']), ('ecosia\.org', ['q']), ('startpage\.com', ['query', 'q']),
    ('search\.brave\.com', ['q']), ('qwant\.com', ['q']), ('ask\.com', ['q']), ('sogou\.com', ['query', 'keyword']),
    ('search\.aol\.[a-z.]{2,6}', ['q', 'query']), ('search\.naver\.com', ['query']), ('search\.seznam\.cz', ['q']);

CREATE MACRO decoded(text) AS url_decode(replace(text, '+', ' '));
CREATE MACRO words(query, parameters) AS list_filter(
    flatten(list_transform(parameters, lambda name: list_transform(
        list_filter(string_split(query, '&'), lambda part: decoded(string_split(part, '=')[1]) = name),
        lambda part: trim(regexp_replace(decoded(part[strpos(part, '=') + 1 :]), '\s+', ' ', 'g'))))),
    lambda found: found <> '')[1];
CREATE MACRO own_words(path, query) AS CASE
    WHEN regexp_full_match(path, '(?i).*/search/?|.*/search\.[a-z]+') THEN words(query, ['q', 'query', 's', 'search',
        'text', 'term', 'keyword', 'keywords', 'words', 'wd', 'p'])
    WHEN path LIKE '%/' THEN words(query, ['s']) END;

CREATE TABLE requested AS
SELECT *, split_part(split_part(page, '#', 1), '?', 1) AS path,
    substr(split_part(page, '#', 1), length(split_part(split_part(page, '#', 1), '?', 1)) + 2) AS query,
    regexp_replace(lower(regexp_replace(of_referrer.authority, '^.*@|:[0-9]*$', '', 'g')), '^www\.', '')
        AS referrer_host,
    of_referrer.path AS referrer_path, of_referrer.query AS referrer_query
FROM (SELECT *, regexp_extract(coalesce(referrer, ''), '^[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)([^?#]*)(\?([^#]*))?',
    ['authority', 'path', 'mark', 'query']) AS of_referrer FROM views);

CREATE TABLE got AS
SELECT *, own_words(path, query) AS own_search, referrer_host = $site AS is_ours,
    CASE WHEN referrer_host = $site THEN own_words(referrer_path, referrer_query) END AS shown_words,
    CASE WHEN NOT (referrer_path = '/url' AND regexp_matches(words, '^https?://')) THEN words END AS searched
FROM (
    SELECT requested.*, words(referrer_query, parameters) AS words FROM requested
    LEFT JOIN engines ON referrer_host <> $site AND regexp_full_match(referrer_host, '(.*\.)?' || engines.host))
WHERE method = 'GET' AND status < 400 AND NOT regexp_full_match(path, '(?i).*\.(css|js|mjs|map|json|png|jpe?g|gif|svg|'
    || 'ico|webp|avif|bmp|woff2?|ttf|otf|eot|mp3|mp4|webm|ogg|wasm)');

INSERT INTO others BY NAME
SELECT 'click' AS type, number || 'c' AS id, time, address, agent, page AS item,
    coalesce(searched, shown_words) AS query
FROM got WHERE is_ours OR searched IS NOT NULL
UNION ALL BY NAME
SELECT 'search' AS type, number || 's' AS id, time, address, agent, searched AS query
FROM got WHERE searched IS NOT NULL
UNION ALL BY NAME
SELECT 'search' AS type, number || 'o' AS id, time, address, agent, own_search AS query
FROM got WHERE own_search IS NOT NULL
UNION ALL BY NAME
SELECT 'login' AS type, number || 'l' AS id, time, address, agent, path AS service,
    status NOT IN (401, 403) AND NOT (status = 200 AND regexp_matches(path, '(?i)wp-login\.php/*$')) AS is_success
FROM requested
WHERE status IN (401, 403) OR method = 'POST' AND status BETWEEN 200 AND 399
    AND regexp_matches(path, '(?i)(^|/)(login|signin|wp-login\.php)/*$');
"""

_TRAFFIC = """
    count(*) AS views, count(DISTINCT visitor) AS visitors,
    count(DISTINCT visitor) FILTER (is_crawler) AS crawler_visitors,
    count(DISTINCT visitor) FILTER (is_left_out) AS left_out_visitors, count(*) FILTER (NOT is_asset) AS page_views,
    count(*) FILTER (is_crawler) AS crawler_views, count(*) FILTER (is_left_out) AS left_out_views,
    coalesce(sum(size), 0) AS bytes, count(*) FILTER (status // 100 = 4) AS client_errors,
    count(*) FILTER (status // 100 = 5) AS server_errors
"""
_OTHER_COUNTS = """
    count(*) FILTER (type = 'click') AS clicks, count(*) FILTER (type = 'search') AS searches,
    count(*) FILTER (type = 'vote') AS votes, count(*) FILTER (type = 'post') AS posts,
    count(*) FILTER (type = 'login') AS logins, count(*) FILTER (type = 'login' AND NOT is_success) AS failed_logins
"""
_VISIT_COUNTS = """
    count(*) AS sessions, count(*) FILTER (pages = 1) AS bounces,
    count(*) FILTER (pages = 1) / nullif(count(*), 0) AS bounce_share, coalesce(sum(length_s), 0) AS session_length_s,
    quantile_disc(length_s, 0.5) AS session_length_p50_s
"""

QUERIES = {
    "report_totals": f"""
        SELECT (SELECT min(time) FROM events), (SELECT max(time) FROM events), (SELECT count(*) FROM events), traffic.*,
            others.*, visits.*, $repeats
        FROM (SELECT {_TRAFFIC} FROM requests) AS traffic, (SELECT {_OTHER_COUNTS} FROM events) AS others,
            (SELECT {_VISIT_COUNTS} FROM visits) AS visits""",
    "report_days": f"""
        SELECT day, coalesce(views, 0), coalesce(visitors, 0), coalesce(crawler_visitors, 0),
            coalesce(left_out_visitors, 0), coalesce(page_views, 0), coalesce(crawler_views, 0),
            coalesce(left_out_views, 0), coalesce(bytes, 0), coalesce(client_errors, 0), coalesce(server_errors, 0),
            clicks, searches, votes, posts, logins, failed_logins, coalesce(sessions, 0), coalesce(bounces, 0),
            bounce_share, coalesce(session_length_s, 0), session_length_p50_s
        FROM (SELECT day, {_OTHER_COUNTS} FROM events GROUP BY day)
        LEFT JOIN (SELECT day, {_TRAFFIC} FROM requests GROUP BY day) USING (day)
        LEFT JOIN (SELECT day, {_VISIT_COUNTS} FROM visits GROUP BY day) USING (day)""",
    "report_hours": """
        SELECT date_trunc('hour', time), count(DISTINCT visitor), count(*), count(*) FILTER (is_crawler), sum(size),
            count(*) FILTER (status // 100 = 1), count(*) FILTER (status // 100 = 2),
            count(*) FILTER (status // 100 = 3), count(*) FILTER (status // 100 = 4),
            count(*) FILTER (status // 100 = 5)
        FROM requests GROUP BY ALL""",
    "report_pages": """
        SELECT day, page, regexp_matches(page, getvariable('assets')), coalesce(views, 0), coalesce(visitors, 0),
            coalesce(bytes, 0), coalesce(missing, 0), coalesce(entries, 0), coalesce(exits, 0)
        FROM (
            SELECT day, page, count(*) AS views, count(DISTINCT visitor) AS visitors, sum(size) AS bytes,
                count(*) FILTER (status IN (404, 410)) AS missing
            FROM audience GROUP BY ALL)
        FULL JOIN (SELECT day, entry_page AS page, count(*) AS entries FROM visits GROUP BY ALL) USING (day, page)
        FULL JOIN (SELECT day, exit_page AS page, count(*) AS exits FROM visits GROUP BY ALL) USING (day, page)""",
    "report_referrers": r"""
        SELECT day, host, count(*), count(DISTINCT visitor),
            coalesce(host <> '' AND list_contains(string_split(getvariable('own_hosts'), ','), host), false)
        FROM (
            SELECT *, CASE WHEN referrer IS NOT NULL THEN translate(regexp_replace(regexp_replace(
                regexp_extract(referrer, '^[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)', 1), '^.*@', ''), ':[0-9]*$', ''),
                'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz') END AS host
            FROM audience WHERE NOT is_asset)
        GROUP BY day, host""",
    "report_crawlers": "SELECT day, agent, count(*), sum(size) FROM requests WHERE is_crawler GROUP BY ALL",
    "report_sessions": "SELECT * FROM visits",
    "report_depth": """
        SELECT day, least_pages, count(*) FILTER (pages >= least_pages)
        FROM visits, (VALUES (1), (2), (3), (5), (10)) AS steps (least_pages) GROUP BY ALL""",
    # Each step with the earliest time of a visitor's event that fits and is not before the step ahead of it.
    "report_funnel": """
        WITH RECURSIVE fitting AS (
                SELECT day, visitor, time, steps.step FROM counted JOIN steps
                    ON list_contains(steps.types, type) AND regexp_matches(coalesce(subject, ''), steps.pattern)
                WHERE address IS NOT NULL),
            reached AS (
                SELECT day, visitor, 1 AS step, min(time) AS time FROM fitting WHERE step = 1 GROUP BY day, visitor
                UNION ALL
                SELECT day, visitor, step, time FROM (
                    SELECT reached.day, reached.visitor, fitting.step, fitting.time,
                        row_number() OVER (PARTITION BY reached.day, reached.visitor ORDER BY fitting.time) AS nth
                    FROM reached JOIN fitting ON fitting.day = reached.day AND fitting.visitor = reached.visitor
                        AND fitting.step = reached.step + 1 AND fitting.time >= reached.time)
                WHERE nth = 1)
        SELECT days.day, steps.step, steps.name, count(reached.day)
        FROM (SELECT DISTINCT day FROM counted WHERE address IS NOT NULL) AS days CROSS JOIN steps
        LEFT JOIN reached ON reached.day = days.day AND reached.step = steps.step GROUP BY ALL""",
    "report_searches": """
        SELECT day, query, count(*) FILTER (type = 'search'), count(DISTINCT visitor) FILTER (type = 'search'),
            count(*) FILTER (type = 'search' AND result_count = 0), count(*) FILTER (type = 'click')
        FROM counted WHERE query IS NOT NULL GROUP BY ALL""",
}


class Reckoning:
    """The tables of one log (unpacked, UTF-8) and other events, with the job's parameters.

    `found` are visitors: (address, agent).
    `steps` are those of the funnel: (name, types, pattern). Where the `site` is named, whose log it is, the log's own
    clicks, searches and logins are among the other events.
    """

    def __init__(
        self,
        log: Path,
        others: Rows,
        parameters: dict[str, Any],
        steps: list[tuple[str, list[str], str]],
        site: str | None = None,
        found: Sequence[tuple[str, str]] = (),
    ) -> None:
        self._database = duckdb.connect()
        for name in ("crawlers", "assets", "count_crawlers", "own_hosts", "session_gap_s"):
            self._database.execute(f"SET VARIABLE {name} = $value", {"value": parameters[name]})
        self._database.execute(_OTHERS)
        if others:
            self._database.executemany(f"INSERT INTO others VALUES ({', '.join('?' * 10)})", others)
        self._database.execute("CREATE TABLE steps (step INTEGER, name VARCHAR, types VARCHAR[], pattern VARCHAR)")
        self._database.executemany(
            "INSERT INTO steps VALUES (?, ?, ?, ?)", [(n, *step) for n, step in enumerate(steps, start=1)]
        )
        visitors = [" ".join(visitor) for visitor in found]
        self._database.execute("SET VARIABLE found = $value::VARCHAR[]", {"value": visitors})
        self._database.execute(_LINES, {"path": str(log)})
        self._database.execute(_VIEWS)
        if site is not None:
            for statement in _EVENTS_OF_VIEWS.split(";\n"):
                self._database.execute(statement, {"site": site} if "$site" in statement else {})

    def line_count(self) -> int:
        """Lines of the log, whatever they are."""
        return self._database.execute("SELECT count(*) FROM lines").fetchall()[0][0]

    def view_count(self) -> int:
        """Lines that are page views."""
        return self._database.execute("SELECT count(*) FROM views").fetchall()[0][0]

    def rows(self, table: str, repeats: int) -> Rows:
        """Give all rows of a table, in the order of its columns."""
        query = QUERIES[table]
        return self._database.execute(query, {"repeats": repeats} if "$repeats" in query else {}).fetchall()
