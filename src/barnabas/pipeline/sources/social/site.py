"""The made-up site: its items, searches and texts, and how it answers requests."""

from collections import deque
from math import fsum
from random import Random
from zlib import crc32

from barnabas.pipeline.events import EventType
from barnabas.pipeline.events.types import FOLLOW, LOGIN, PAGE_VIEW
from barnabas.pipeline.sources.social.actors import Actor, Fields, Happening
from barnabas.pipeline.sources.social.people import Addresses, People
from barnabas.pipeline.sources.social.plan import SITE, SitePlan
from barnabas.pipeline.sources.social.random_numbers import CELLS, log_normal, pick, rank, seeded, some, zipf

HOME = f"https://{SITE}"
ASSETS = ("/assets/site.css", "/assets/site.js", "/assets/logo.svg", "/favicon.ico")

_WORDS = """
    river bread winter music garden bicycle train coffee school history kitchen football travel island weather
    camera novel painting market language science planet forest budget election museum puzzle recipe harvest
    mountain engine library theatre guitar dance ocean cheese letter morning window bridge village castle trial
    pottery chess running sleep doctor farmer battery solar insect bird horse family wedding neighbour rent city
    radio podcast festival poem comic keyboard network database broker stream queue cluster server router spark
    python java compiler kernel printer robot drone satellite telescope physics algebra graph number paper
    pencil
""".split()  # noqa: SIM905  # a list literal takes a line for each word
_COMMON = ("the", "a", "and", "of", "to", "in", "is", "it", "for", "with", "on", "that", "this", "was", "are", "my")
# Relative rate of visits in the hours of a day, UTC.
_RHYTHM = (8, 5, 4, 3, 3, 4, 7, 12, 16, 18, 19, 20, 21, 20, 19, 19, 20, 22, 25, 28, 30, 28, 21, 13)
_HOUR_MS = 3_600_000
_OUTAGE_STATUSES = (500, 502, 503, 503, 503, 504)
_OUTAGE_ERROR_SHARE = 0.35


class Site:
    """The site's items, people and answers. Visits add new items."""

    def __init__(self, plan: SitePlan) -> None:
        self.plan = plan
        self.addresses = Addresses(plan.seed)
        self.people = People(plan, self.addresses)
        self.outage_ms = plan.outage_ms
        random = seeded(plan.seed, "site")
        self.topics = [f"/topics/{word}" for word in _WORDS[:40]]
        self.items = [
            f"/posts/{1000 + number}-{pick(random, _WORDS)}-{pick(random, _WORDS)}" for number in range(plan.items)
        ]
        self._by_rank, self._ranks = some(random, self.items, plan.items), zipf(plan.items)
        self._new_items: deque[tuple[int, str]] = deque(maxlen=200)
        self._last_number = 999 + plan.items
        # Each query finds the same ten items every time.
        pairs = [f"{pick(random, _WORDS)} {pick(random, _WORDS)}" for _ in range(300)]
        self._results = [(query, self._found(random)) for query in dict.fromkeys(pairs)]
        self._query_ranks = zipf(len(self._results))
        self.followee_ranks = zipf(plan.users, 3)
        self.sizes = [int(size) for size in some(random, log_normal(14_000, 0.8), CELLS)]
        self.latencies = log_normal(45, 0.6)
        self.slownesses = log_normal(9, 0.5)
        minutes = range(plan.start_ms, plan.end_ms, 60_000)
        self._mean_rhythm = fsum(_rhythm(minute) for minute in minutes) / len(minutes)

    def item(self, random: Random, time_ms: int) -> str:
        """Return the item of a request: one in ten is new, popular items are more frequent."""
        if random.random() < 0.1 and self._new_items:
            written_ms, item = pick(random, self._new_items)
            if written_ms <= time_ms:
                return item
        return self._by_rank[rank(random, self._ranks)]

    def new_item(self, time_ms: int) -> str:
        """Create an item that exists from `time_ms` on."""
        self._last_number += 1
        number = self._last_number
        item = f"/posts/{number}-{_WORDS[number % len(_WORDS)]}-{_WORDS[number * 7 % len(_WORDS)]}"
        self._new_items.append((time_ms, item))
        return item

    def search(self, random: Random) -> tuple[str, list[str]]:
        """Return a query and the ten items that it finds, the best first."""
        return self._results[rank(random, self._query_ranks)]

    def text(self, random: Random, word_count: int) -> str:
        """Return a text that a person might write."""
        words = [pick(random, _WORDS if random.random() < 0.4 else _COMMON) for _ in range(word_count)]
        return " ".join(words).capitalize() + "."

    def rhythm(self, time_ms: int) -> float:
        """Return the rate of visits at a time relative to the mean of the plan."""
        return _rhythm(time_ms) / self._mean_rhythm

    def _found(self, random: Random) -> list[str]:
        distinct: dict[str, None] = {}
        while len(distinct) < 10:
            distinct[self._by_rank[rank(random, self._ranks)]] = None
        return list(distinct)


def _rhythm(time_ms: int) -> float:
    hours, rest = divmod(time_ms, _HOUR_MS)
    now, soon = _RHYTHM[hours % 24], _RHYTHM[(hours + 1) % 24]
    return now + (soon - now) * rest / _HOUR_MS


class Client:
    """A browser or program that uses the site.

    Attributes:
        time_ms: Time of the client's next event.
        events: Events since the last `take`.
    """

    def __init__(
        self,
        site: Site,
        random: Random,
        place: tuple[str, str | None],
        user: str = "",
        session: str | None = None,
        actor: Actor | None = None,
    ) -> None:
        """Create a client at a place (address and agent); `random` decides how the site answers."""
        self.site, self.random, self.actor = site, random, actor
        self.address, self.agent = place
        self.user, self.session = user or None, session
        self.sends_referrer = True
        self.time_ms = 0
        self.events: list[Happening] = []

    def take(self) -> list[Happening]:
        """Return the events since the last call."""
        events, self.events = self.events, []
        return events

    def view(
        self, page: str, referrer: str | None = None, status: int = 0, method: str = "GET", delay_ms: int = 0
    ) -> Fields:
        """Request a page and return the event's fields; `status` 0 leaves the status to the site."""
        site, random = self.site, self.random.random
        time_ms = self.time_ms + delay_ms
        latency_ms = site.latencies[int(random() * CELLS)]
        if site.outage_ms[0] <= time_ms < site.outage_ms[1]:
            latency_ms *= pick(self.random, site.slownesses)
            if random() < _OUTAGE_ERROR_SHARE:
                status = pick(self.random, _OUTAGE_STATUSES)
        if not status:
            chance = random()
            status = 200 if chance < 0.979 else 304 if chance < 0.999 else 500
        size: int | None = 512
        if status == 304:
            size = None
        elif status < 400:
            size = site.sizes[crc32(page.encode()) % CELLS] + int(random() * 64)
        fields: Fields = {
            "address": self.address,
            "user": self.user,
            "session": self.session,
            "method": method,
            "page": page,
            "status": status,
            "bytes": size,
            "referrer": referrer if self.sends_referrer else None,
            "agent": self.agent,
            "latency_ms": round(latency_ms, 1),
        }
        self.events.append((time_ms, PAGE_VIEW, fields, self.actor))
        return fields

    def login(self, user: str, reason: str | None) -> None:
        """Try to log in to the site; the login fails if it has a `reason`."""
        request = self.view("/login", f"{HOME}/login", 401 if reason else 302, "POST")
        request["user"] = None if reason else user
        if request["status"] < 500:
            self.outcome(user, reason, "/login")

    def outcome(self, user: str, reason: str | None, service: str) -> None:
        """Add the outcome of a login to a service; `reason` is None if it succeeds."""
        self.act(LOGIN, user=user, is_success=reason is None, service=service, reason=reason, method="password")

    def act(self, event_type: EventType, **own: object) -> None:
        """Add an event of the client's user, with the fields `own` that are specific to the type."""
        fields: Fields = {"address": self.address, "user": self.user, **own}
        if event_type is not FOLLOW:
            fields["agent"] = self.agent
        self.events.append((self.time_ms, event_type, fields, self.actor))
