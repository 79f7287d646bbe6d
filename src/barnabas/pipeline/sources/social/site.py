"""The site itself: its items, searches and words, and how it answers a request."""

from collections import deque
from random import Random
from zlib import crc32

from barnabas.pipeline.events.types import FOLLOW, LOGIN, PAGE_VIEW, POST, VOTE
from barnabas.pipeline.sources.social.actors import Actor, Happening
from barnabas.pipeline.sources.social.chance import LogNormal, Weighted, pick, seeded, shuffled, whole, zipf
from barnabas.pipeline.sources.social.people import Addresses, People
from barnabas.pipeline.sources.social.plan import SITE, SitePlan

HOME = f"https://{SITE}"
ENGINES = ("www.google.com", "www.bing.com", "duckduckgo.com", "search.brave.com", "www.ecosia.org")
ASSETS = ("/assets/site.css", "/assets/site.js", "/assets/logo.svg", "/favicon.ico")

_WORDS = """
    river bread winter music garden bicycle train coffee school history kitchen football travel island weather
    camera novel painting market language science planet forest budget election museum puzzle recipe harvest
    mountain engine library theatre guitar dance ocean cheese letter morning window bridge village castle trial
    pottery chess running sleep doctor farmer battery solar insect bird horse family wedding neighbour rent city
    radio podcast festival poem comic keyboard network database broker stream queue cluster server router spark
    python java compiler kernel printer robot drone satellite telescope physics algebra graph number paper
    pencil
""".split()  # noqa: SIM905  # a list of one word a line is three pages long
_OFTEN = """
    the a and of to in is it for with on that this was are my not we you they from at as have
""".split()  # noqa: SIM905  # a list of one word a line is three pages long
_ERRORS = (500, 502, 503, 503, 503, 504)
_NEW_ITEM_COUNT = 200
_OUTAGE_ERROR_SHARE = 0.35


class Site:
    """The site's items, people and answers. Written by the visits as they go: new items appear."""

    def __init__(self, plan: SitePlan) -> None:
        """Make up the items and who is there."""
        self.plan = plan
        self.addresses = Addresses(plan.seed)
        self.people = People(plan, self.addresses)
        random = seeded(plan.seed, "site")
        self.topics = [f"/topics/{word}" for word in _WORDS[:40]]
        self.items = [
            f"/posts/{1000 + number}-{pick(random, _WORDS)}-{pick(random, _WORDS)}" for number in range(plan.items)
        ]
        self._by_rank = shuffled(random, self.items)
        self._rank = zipf(plan.items)
        self.new_items: deque[tuple[int, str]] = deque(maxlen=_NEW_ITEM_COUNT)
        self._new_item_count = 0
        self.queries = [f"{first} {second}" for first, second in _pairs(random, 300)]
        self._query_rank = zipf(len(self.queries))
        self._results: dict[int, list[str]] = {}
        self.position = zipf(10)
        self._often = zipf(len(_OFTEN))
        size = LogNormal(14_000, 0.8)
        self._sizes = [int(size.draw(random)) for _ in range(512)]
        self._latency = LogNormal(45, 0.6)
        self._slowness = LogNormal(9, 0.5)
        self._status = Weighted((970, 20, 1))
        self._outage_begin_ms, self._outage_end_ms = plan.outage_ms

    def item(self, random: Random, time_ms: int) -> str:
        """Return the item that somebody looks at: a popular one more often, one in ten a new one."""
        if random.random() < 0.1 and self.new_items:
            written_ms, item = pick(random, self.new_items)
            if written_ms <= time_ms:
                return item
        return self._by_rank[self._rank.draw(random)]

    def write(self, time_ms: int) -> str:
        """Make a new item; it is there from `time_ms` on."""
        self._new_item_count += 1
        number = 1000 + len(self.items) + self._new_item_count
        item = f"/posts/{number}-{_WORDS[number % len(_WORDS)]}-{_WORDS[number * 7 % len(_WORDS)]}"
        self.new_items.append((time_ms, item))
        return item

    def query(self, random: Random) -> int:
        """Return the place in `queries` of what somebody searches for."""
        return self._query_rank.draw(random)

    def results(self, query: int) -> list[str]:
        """Return the ten items that are found, best first: always the same for a query."""
        found = self._results.get(query)
        if found is None:
            random = seeded(self.plan.seed, "results", query)
            distinct: dict[str, None] = {}
            while len(distinct) < 10:
                distinct[self._by_rank[self._rank.draw(random)]] = None
            found = self._results[query] = list(distinct)
        return found

    def text(self, random: Random, word_count: int) -> str:
        """Return something that somebody might have written."""
        words = [
            pick(random, _WORDS) if random.random() < 0.4 else _OFTEN[self._often.draw(random)]
            for _ in range(word_count)
        ]
        return " ".join(words).capitalize() + "."

    def view(
        self,
        random: Random,
        time_ms: int,
        place: tuple[str, str | None],
        page: str,
        *,
        user: str | None = None,
        session: str | None = None,
        referrer: str | None = None,
        status: int = 0,
        method: str = "GET",
        actor: Actor | None = None,
    ) -> Happening:
        """Answer a request; `status` 0 means: whatever the site answers usually."""
        latency_ms = self._latency.draw(random)
        if self._outage_begin_ms <= time_ms < self._outage_end_ms:
            latency_ms *= self._slowness.draw(random)
            if random.random() < _OUTAGE_ERROR_SHARE:
                status = pick(random, _ERRORS)
        if status == 0:
            status = (200, 304, 500)[self._status.draw(random)]
        if status == 304:
            body_bytes = None
        elif status >= 400:
            body_bytes = 512
        else:
            body_bytes = self._sizes[crc32(page.encode()) & 511] + int(random.random() * 64)
        fields: dict[str, object] = {
            "address": place[0],
            "user": user,
            "session": session,
            "method": method,
            "page": page,
            "status": status,
            "bytes": body_bytes,
            "referrer": referrer,
            "agent": place[1],
            "latency_ms": round(latency_ms, 1),
        }
        return (time_ms, PAGE_VIEW, fields, actor)

    def login(
        self,
        random: Random,
        time_ms: int,
        place: tuple[str, str | None],
        user: str,
        reason: str | None,
        *,
        session: str | None = None,
        actor: Actor | None = None,
    ) -> list[Happening]:
        """Answer a login on the site: the request and what came of it. `reason` None means that it is let in."""
        request = self.view(
            random,
            time_ms,
            place,
            "/login",
            user=None if reason else user,
            session=session,
            referrer=f"{HOME}/login",
            status=401 if reason else 302,
            method="POST",
            actor=actor,
        )
        if int(str(request[2]["status"])) >= 500:
            return [request]
        return [request, login(time_ms, place, user, reason, "/login", actor)]


def login(
    time_ms: int, place: tuple[str, str | None], user: str, reason: str | None, service: str, actor: Actor | None
) -> Happening:
    """Return what a service says of a login; `reason` None means that it is let in."""
    fields: dict[str, object] = {
        "address": place[0],
        "user": user,
        "is_success": reason is None,
        "service": service,
        "reason": reason,
        "method": "password",
        "agent": place[1],
    }
    return (time_ms, LOGIN, fields, actor)


def vote(
    time_ms: int, place: tuple[str, str], user: str | None, item: str, value: int, actor: Actor | None
) -> Happening:
    """Return somebody's vote on an item."""
    fields: dict[str, object] = {"address": place[0], "user": user, "item": item, "value": value, "agent": place[1]}
    return (time_ms, VOTE, fields, actor)


def post(
    time_ms: int,
    place: tuple[str, str],
    user: str | None,
    item: str,
    text: str,
    parent: str | None,
    actor: Actor | None,
) -> Happening:
    """Return what somebody wrote: an item, or a comment below its `parent`."""
    fields: dict[str, object] = {"address": place[0], "user": user, "item": item, "text": text, "parent": parent}
    return (time_ms, POST, {**fields, "agent": place[1]}, actor)


def follow(
    time_ms: int, address: str, user: str | None, followee: str, is_following: bool, actor: Actor | None
) -> Happening:
    """Return that somebody follows somebody, or no longer."""
    fields: dict[str, object] = {"address": address, "user": user, "followee": followee, "is_following": is_following}
    return (time_ms, FOLLOW, fields, actor)


def session_name(random: Random) -> str:
    """Return the name of a session of the site."""
    return f"{whole(random, 0, 0xFFFFFFFFFF):010x}"


def search_page(query: str) -> str:
    """Return the page that shows a search's results."""
    return "/search?q=" + query.replace(" ", "+")


def _pairs(random: Random, count: int) -> list[tuple[str, str]]:
    pairs: dict[tuple[str, str], None] = {}
    while len(pairs) < count:
        pairs[(pick(random, _WORDS), pick(random, _WORDS))] = None
    return list(pairs)
