"""User agents that declare themselves automated: crawlers, feed readers, previews, tools.

An agent declares itself in one of four ways. One regular expression (`declared_pattern`) covers all of them, in the
syntax that Python and Java share:

- a word: bot, crawler, spider, feed, ... (`WORDS`), anywhere in the text, in upper or lower case;
- the name of a feed reader or a tool without such a word (`NAMES`);
- its owner's `+http://...` or mail address, which crawlers are asked to give and browsers never give;
- a name of the list `crawler-user-agents`, which has many maintainers and monthly releases.

Source: https://github.com/monperrus/crawler-user-agents; RFC 9309, section 2.2.1.
"""

import re
from functools import cache

# Not after "cu": Cubot makes telephones.
WORDS = (
    r"(?<!cu)bot",
    "robo",
    "crawl",
    "spider",
    "slurp",
    "scrape",
    "scan(?:ner|ning)",
    "archiver",
    "index(?:er|ing)",
    "feed",
    "rss",
    "podcast",
    "aggregat",
    # "2 readers", "theoldreader", "Bloglines reader"; not e-book readers.
    r"(?<!e-)(?<!\be)(?<!fb)reader",
    "subscriber",
    "fetch",
    "preview",
    "harvest",
    "monitor",
    "uptime",
    "(?:link|url|site|html|css)[ _-]?(?:check|valid|verif)",
    "validator",
    "headless",
)

NAMES = (
    # Feed readers.
    "akregator",
    "apple-pubsub",
    "bazqux",
    "bloglines",
    "blogtrottr",
    "flipboard",
    "gpodder",
    "liferea",
    "livejournal",
    "miniflux",
    "netnewswire",
    "netvibes",
    "newsblur",
    "newsboat",
    "newsbeuter",
    "newsgator",
    "newsify",
    "overcast",
    "pulp/",
    "reeder/",
    "simplepie",
    "sage\\+\\+",
    "vienna/",
    # Tools and libraries.
    "^curl",
    r"\bwget",
    "libcurl",
    # "libwww-FM" is the library of a text browser.
    "libwww(?!-fm)",
    "libfetch",
    "lwp",
    "python",
    "perl/",
    "^php/",
    "^ruby",
    "^java/",
    "^go[ /-]",
    "^node",
    "http_?(?:request|client|unit|lib|get|kit)",
    "okhttp",
    "axios",
    "aiohttp",
    "httpx",
    "guzzle",
    "mechanize",
    "phantomjs",
    "portscout",
    "selenium",
    "nutch",
    "heritrix",
    "xenu",
    "facebookexternalhit",
    "appengine",
    "imageproxy",
)

_OWNER = (r"\+ ?https?:", r"[\w.+-]@[\w-]+\.[a-z]{2}")

# Only so many characters of an agent are searched: the time of some patterns grows with the square of the length.
MOST_SEARCHED = 2_000


@cache
def declared_pattern() -> str:
    """Return the regular expression that matches a part of each agent that declares itself."""
    from crawleruseragents import CRAWLER_USER_AGENTS_DATA  # type: ignore[import-untyped]  # it has no types

    own = "|".join((*WORDS, *NAMES, *_OWNER))
    listed = "|".join(entry["pattern"] for entry in CRAWLER_USER_AGENTS_DATA)
    # The list is case-sensitive: "BW/" is one of its names.
    return f"(?i:{own})|(?:{listed})"


def is_declared(agent: str) -> bool:
    """Return whether an agent declares itself, by the job's pattern."""
    return re.search(declared_pattern(), agent[:MOST_SEARCHED]) is not None
