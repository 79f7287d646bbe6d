"""Machines that read the site: those that say so, and those that pretend to be people."""

from collections.abc import Callable, Iterator
from random import Random

from barnabas.pipeline.sources.social.actors import Actor, Burst, Happening, Source
from barnabas.pipeline.sources.social.chance import LogNormal, between, pick, seeded, shuffled, whole
from barnabas.pipeline.sources.social.people import desktop_agent
from barnabas.pipeline.sources.social.site import ASSETS, HOME, Site, session_name

_DECLARED = (
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
    "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",
    "Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)",
    "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)",
    "Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)",
    "Mozilla/5.0 (compatible; MJ12bot/v1.4.8; http://mj12bot.com/)",
    "CCBot/2.0 (https://commoncrawl.org/faq/)",
    "DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)",
    "ExampleBot/2.1 (+https://bot.example/about)",
    "Mozilla/5.0 (compatible; archive.org_bot +http://archive.org/details/archive.org_bot)",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
)
_LEAST_REQUESTS = 60
_MOST_REQUESTS = 6_000
# A crawl leaves the beginning and the end of the plan free.
_LONGEST_SHARE = 0.9

NextPage = Callable[[], str]


def declared_crawlers(site: Site, event_count: int) -> list[Source]:
    """Return crawlers whose agent says so; they read robots.txt. The polite take their time, the aggressive do not."""
    random = seeded(site.plan.seed, "declared crawlers")
    requests = LogNormal(350, 1.0)
    sources: list[Source] = []
    agents = shuffled(random, _DECLARED)
    while event_count > 0:
        number = len(sources)
        is_polite = random.random() < 0.7
        pace_s = between(random, 4, 30) if is_polite else between(random, 0.3, 2)
        wanted = min(int(requests.draw(random)), max(event_count, _LEAST_REQUESTS))
        addresses = site.addresses.neighbours(whole(random, 1, 3))
        actor = Actor("crawler", f"crawler-{number}", "address+agent", is_declared=True)
        actor.addresses, actor.agents = addresses, [agents[number % len(agents)]]
        actor.traits = {"pace_s": round(pace_s, 2), "is_polite": is_polite}
        crawl = _Crawl(site, actor, wanted, pace_s, jitter=between(random, 0.05, 0.4))
        crawl.reads_robots = True
        sources.append(crawl.source())
        event_count -= crawl.count
    return sources


def scrapers(site: Site, event_count: int) -> list[Source]:
    """Return crawlers that pretend to be browsers, from one address or a pool, more or less well."""
    random = seeded(site.plan.seed, "scrapers")
    requests = LogNormal(300, 0.9)
    sources: list[Source] = []
    while event_count > 0:
        number = len(sources)
        # No more addresses than leave each of them something to be known by.
        pool = min(1 if random.random() < 0.65 else whole(random, 2, 8), max(1, event_count // _LEAST_REQUESTS))
        pace_s = between(random, 0.5, 3) if random.random() < 0.4 else between(random, 3, 25)
        wanted = min(int(requests.draw(random)) * (1 + pool // 2), max(event_count, _LEAST_REQUESTS))
        wanted = max(wanted, pool * _LEAST_REQUESTS // 2)
        actor = Actor("scraper", f"scraper-{number}", "address+agent")
        actor.addresses = site.addresses.neighbours(pool) if random.random() < 0.5 else site.addresses.several(pool)
        actor.agents = [desktop_agent(random)]
        crawl = _Crawl(site, actor, wanted, pace_s / (1 + pool // 3), jitter=between(random, 0.02, 0.7))
        crawl.reads_robots = random.random() < 0.1
        crawl.assets_every = whole(random, 4, 20) if random.random() < 0.3 else 0
        crawl.keeps_session = random.random() < 0.4
        crawl.referrer = pick(random, (None, None, None, f"{HOME}/", "https://www.google.com/"))
        actor.traits = {"pace_s": round(crawl.pace_s, 2), "pool": pool, "jitter": round(crawl.jitter, 2)}
        actor.traits |= {"reads_assets": crawl.assets_every > 0, "referrer": crawl.referrer}
        sources.append(crawl.source())
        event_count -= crawl.count
    return sources


class _Crawl:
    """One crawl: `count` requests by all its addresses together, `pace_s` apart, give or take `jitter` of it."""

    def __init__(self, site: Site, actor: Actor, wanted: int, pace_s: float, jitter: float) -> None:
        longest_s = site.plan.duration_s * _LONGEST_SHARE
        # A plan of some minutes is too short for the slow: they hurry, rather than leave nothing to be known by.
        self.pace_s = min(pace_s, longest_s / _LEAST_REQUESTS)
        self.count = max(min(wanted, int(longest_s / self.pace_s), _MOST_REQUESTS), _LEAST_REQUESTS)
        self.jitter = jitter
        self.reads_robots = self.keeps_session = False
        self.assets_every = 0
        self.referrer: str | None = None
        self._site, self._actor = site, actor
        self._random = seeded(site.plan.seed, actor.name)

    def source(self) -> Source:
        """Return its requests."""
        return Source(self._bursts(), self.count, self._actor)

    def _bursts(self) -> Iterator[Burst]:
        random, plan, actor = self._random, self._site.plan, self._actor
        spare_ms = plan.duration_s * 1000 - self.count * self.pace_s * 1000 * 1.05
        time_ms = plan.start_ms + max(0.0, spare_ms) * random.random()
        places = [(address, actor.agents[0]) for address in actor.addresses]
        session = session_name(random) if self.keeps_session else None
        next_page = _systematically(self._site, random)
        for number in range(self.count):
            place = places[number % len(places)]
            page, status = next_page(), 0
            if self.reads_robots and number // len(places) % 1000 == 0:
                page = "/robots.txt"
            elif self.assets_every and number % self.assets_every == 1:
                page = pick(random, ASSETS)
            elif random.random() < 0.03:
                page, status = f"/posts/{whole(random, 1, 999)}", 404
            request = self._site.view(
                random, int(time_ms), place, page, session=session, referrer=self.referrer, status=status, actor=actor
            )
            yield int(time_ms), [request]
            time_ms += self.pace_s * 1000 * (1 + self.jitter * (2 * random.random() - 1))


def _systematically(site: Site, random: Random) -> NextPage:
    """Return all pages there are, each once, and then again; some go by number, some by chance."""
    pages = [*site.topics, *site.items] if random.random() < 0.5 else shuffled(random, [*site.items, *site.topics])
    place = whole(random, 0, len(pages) - 1)

    def next_page() -> str:
        nonlocal place
        place = (place + 1) % len(pages)
        return pages[place]

    return next_page


def regular_requests(site: Site, actor: Actor, page: str, interval_s: int, status: Callable[[Random], int]) -> Source:
    """Return the same request again and again: a feed reader's, a probe's."""

    def bursts() -> Iterator[Burst]:
        random = seeded(site.plan.seed, actor.name)
        place = (actor.addresses[0], actor.agents[0])
        time_ms = site.plan.start_ms + int(random.random() * interval_s * 1000)
        while time_ms < site.plan.end_ms:
            requests: list[Happening] = [site.view(random, time_ms, place, page, status=status(random), actor=actor)]
            yield time_ms, requests
            time_ms += interval_s * 1000 + whole(random, -500, 500)

    return Source(bursts(), site.plan.duration_s // interval_s, actor)
