"""User agents that declare themselves automated: crawlers, feed readers, previews, tools.

An agent declares itself in one of four ways, and one regular expression (`declared_pattern`) holds them all, in what
Python's and Java's regular expressions have in common:

- by a word: bot, crawler, spider, feed, ... (`WORDS`), wherever it stands and however it is written;
- by the name of a feed reader or a tool that has no such word in it (`NAMES`);
- by saying where its owner is reached, which is what crawlers are asked to do and browsers never did: `+http://...` or
  a mail address;
- by a name of the list `crawler-user-agents`, which is kept by many and released every month.

Source: https://github.com/monperrus/crawler-user-agents; RFC 9309, section 2.2.1.
"""

import re
from functools import cache

# Not after "cu": that is a maker of telephones.
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
    # "2 readers", "theoldreader", "Bloglines reader"; not the readers of electronic books.
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
    # Of a browser for text it is the library, too.
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

_OWNER = (r"\+ ?https?:", r"[\w.+-]+@[\w-]+\.[a-z]{2}")


@cache
def declared_pattern() -> str:
    """Return the regular expression: an agent in which it is found declares itself."""
    from crawleruseragents import CRAWLER_USER_AGENTS_DATA  # type: ignore[import-untyped]  # it has no types

    own = "|".join((*WORDS, *NAMES, *_OWNER))
    listed = "|".join(entry["pattern"] for entry in CRAWLER_USER_AGENTS_DATA)
    # The list tells large letters from small ones; "BW/" is one of its names.
    return f"(?i:{own})|(?:{listed})"


def is_declared(agent: str) -> bool:
    """Return whether an agent declares itself, as the job sees it."""
    return re.search(declared_pattern(), agent) is not None
