"""Misbehaviour: crawlers, scrapers, spam, vote rings, mass follows, logins with stolen passwords.

The strength differs by actor, from impossible for a person to the behaviour of some people.
"""

from collections.abc import Iterator
from random import Random

from barnabas.pipeline.events.types import FOLLOW, POST, VOTE
from barnabas.pipeline.sources.social.actors import Actor, Behaviour, Happening, Source, source_of
from barnabas.pipeline.sources.social.people import DESKTOPS, PHONES
from barnabas.pipeline.sources.social.random_numbers import between, log_normal, pick, seeded, some, whole
from barnabas.pipeline.sources.social.site import ASSETS, HOME, Client, Site
from barnabas.pipeline.sources.social.visits import session_name

_BOT = "Mozilla/5.0 (compatible; {})"
_DECLARED = (
    _BOT.format("Googlebot/2.1; +http://www.google.com/bot.html"),
    _BOT.format("bingbot/2.0; +http://www.bing.com/bingbot.htm"),
    _BOT.format("AhrefsBot/7.0; +http://ahrefs.com/robot/"),
    _BOT.format("SemrushBot/7~bl; +http://www.semrush.com/bot.html"),
    _BOT.format("YandexBot/3.0; +http://yandex.com/bots"),
    _BOT.format("Baiduspider/2.0; +http://www.baidu.com/search/spider.html"),
    _BOT.format("MJ12bot/v1.4.8; http://mj12bot.com/"),
    "CCBot/2.0 (https://commoncrawl.org/faq/)",
    "DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)",
    "ExampleBot/2.1 (+https://bot.example/about)",
    _BOT.format("archive.org_bot +http://archive.org/details/archive.org_bot"),
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
)
_OFFERS = (
    "Cheap {thing} now!!! Visit https://{shop}.example/{number}",
    "I earned {number} dollars a week from home with {thing}, ask me how: https://{shop}.example",
    "Best {thing} of 2026, {number} % off only today at {shop}.example",
    "You won't believe this {thing} trick ({number} people do) https://{shop}.example/x",
)
_THINGS = ("watches", "pills", "crypto coins", "followers", "casino chips", "loans", "handbags")
_SERVER_NAMES = ("root", "admin", "test", "ubuntu", "oracle", "postgres", "git", "deploy", "backup", "pi", "ftpuser")
_CRAWL_SIZES, _SCRAPE_SIZES, _SPAM_SIZES = log_normal(350, 1.0), log_normal(300, 0.9), log_normal(60, 0.8)
_LEAST_REQUESTS = 60
_MOST_REQUESTS = 6_000


def misbehaviour(site: Site) -> list[Source]:
    """Return the abusers that the plan's shares require."""
    sources: list[Source] = []
    for share, kind, subject, make in (
        (site.plan.shares.crawlers, "crawler", "address+agent", _crawler),
        (site.plan.shares.scrapers, "scraper", "address+agent", _scraper),
        (site.plan.shares.spammers, "spammer", "user", _spammer),
        (site.plan.shares.vote_rings, "vote_ring", "user", _vote_ring),
        (site.plan.shares.mass_followers, "mass_follower", "user", _mass_follower),
        (site.plan.shares.credential_stuffing, "credential_stuffing", "address", _credential_stuffing),
    ):
        left, number = max(1, int(share * site.plan.event_count)) if share else 0, 0
        while left > 0:
            actor = Actor(kind, f"{kind.replace('_', '-')}-{number}", subject, is_declared=kind == "crawler")
            sources.append(source_of(actor, make(site, seeded(site.plan.seed, actor.name), actor, number, left)))
            left -= sources[-1].expected
            number += 1
    return sources


def paced(site: Site, random: Random, count: int, pace_s: float, jitter: float) -> Iterator[int]:
    """Yield `count` times within the plan, at random intervals from `pace_s` * (1 - `jitter`) to * (1 + `jitter`)."""
    spare_ms = max(0.0, (site.plan.duration_s - count * pace_s * 1.1) * 1000)
    time_ms = site.plan.start_ms + spare_ms * random.random()
    for _ in range(count):
        yield int(time_ms)
        time_ms += pace_s * 1000 * (1 + jitter * (2 * random.random() - 1))


def _crawler(site: Site, random: Random, actor: Actor, number: int, left: int) -> Behaviour:
    is_polite = random.random() < 0.7
    pace_s = between(random, 4, 30) if is_polite else between(random, 0.3, 2)
    actor.addresses = site.addresses.neighbours(whole(random, 1, 3))
    actor.agents = [_DECLARED[(site.plan.seed + number) % len(_DECLARED)]]
    actor.traits = {"pace_s": round(pace_s, 2), "is_polite": is_polite}
    wanted = min(int(pick(random, _CRAWL_SIZES)), max(left, _LEAST_REQUESTS))
    yield from _crawl(site, random, actor, wanted, pace_s, between(random, 0.05, 0.4), reads_robots=True)


def _scraper(site: Site, random: Random, actor: Actor, number: int, left: int) -> Behaviour:
    # Each address makes enough requests to be recognised.
    pool = min(1 if random.random() < 0.65 else whole(random, 2, 8), max(1, left // _LEAST_REQUESTS))
    pace_s = between(random, 0.5, 3) if random.random() < 0.4 else between(random, 3, 25)
    wanted = min(int(pick(random, _SCRAPE_SIZES)) * (1 + pool // 2), max(left, _LEAST_REQUESTS))
    actor.addresses = site.addresses.neighbours(pool) if random.random() < 0.5 else site.addresses.several(pool)
    actor.agents = [pick(random, DESKTOPS)]
    jitter = between(random, 0.02, 0.7)
    assets_every = whole(random, 4, 20) if random.random() < 0.3 else 0
    referrer = pick(random, (None, None, None, f"{HOME}/", "https://www.google.com/"))
    actor.traits = {"pool": pool, "jitter": round(jitter, 2), "reads_assets": assets_every > 0, "referrer": referrer}
    yield from _crawl(
        site,
        random,
        actor,
        max(wanted, pool * _LEAST_REQUESTS // 2),
        pace_s / (1 + pool // 3),
        jitter,
        reads_robots=random.random() < 0.1,
        assets_every=assets_every,
        session=session_name(random) if random.random() < 0.4 else None,
        referrer=referrer,
    )


def _crawl(
    site: Site,
    random: Random,
    actor: Actor,
    wanted: int,
    pace_s: float,
    jitter: float,
    *,
    reads_robots: bool,
    assets_every: int = 0,
    session: str | None = None,
    referrer: str | None = None,
) -> Behaviour:
    longest_s = site.plan.duration_s * 0.9
    # In a plan of some minutes slow crawlers are faster, so that they make enough requests to be recognised.
    pace_s = min(pace_s, longest_s / _LEAST_REQUESTS)
    count = max(min(wanted, int(longest_s / pace_s), _MOST_REQUESTS), _LEAST_REQUESTS)
    actor.traits["pace_s"] = round(pace_s, 2)
    yield count
    clients = [Client(site, random, (each, actor.agents[0]), session=session, actor=actor) for each in actor.addresses]
    pages = [*site.topics, *site.items]
    if random.random() < 0.5:
        pages = some(random, pages, len(pages))
    first = whole(random, 0, len(pages) - 1)
    for number, time_ms in enumerate(paced(site, random, count, pace_s, jitter)):
        client = clients[number % len(clients)]
        client.time_ms = time_ms
        page, status = pages[(first + number) % len(pages)], 0
        if reads_robots and number // len(clients) % 1000 == 0:
            page = "/robots.txt"
        elif assets_every and number % assets_every == 1:
            page = pick(random, ASSETS)
        elif random.random() < 0.03:
            page, status = f"/posts/{whole(random, 1, 999)}", 404
        client.view(page, referrer, status)
        yield time_ms, client.take()


def _spammer(site: Site, random: Random, actor: Actor, number: int, left: int) -> Behaviour:
    """Nearly the same post again and again, or votes for one item after the other."""
    actor.users, actor.addresses = [site.people.account()], [site.addresses.next()]
    actor.agents = [pick(random, DESKTOPS)]
    is_voting = random.random() < 0.25
    # Some people vote for several items in a row, so a voting spammer makes more events than one that posts.
    count = max(20, int(pick(random, _SPAM_SIZES))) * (3 if is_voting else 1)
    pace_s = between(random, 2, 20) if random.random() < 0.5 else between(random, 20, 240)
    pace_s = min(pace_s, site.plan.duration_s * 0.8 / count)
    actor.traits = {"pace_s": round(pace_s, 1), "means": "votes" if is_voting else "posts"}
    offer, things = pick(random, _OFFERS), some(random, _THINGS, whole(random, 1, 3))
    shop = f"{pick(random, _THINGS).replace(' ', '-')}-{whole(random, 10, 99)}"
    value = 1 if random.random() < 0.6 else -1
    yield count * 3 // 2
    client = Client(site, random, (actor.addresses[0], actor.agents[0]), actor.users[0], actor=actor)
    items = some(random, site.items, count)
    for number, time_ms in enumerate(paced(site, random, count, pace_s, 0.4)):
        client.time_ms = time_ms
        parent = items[number % len(items)] if is_voting or random.random() < 0.7 else None
        if parent and random.random() < 0.5:
            client.view(parent, f"{HOME}/new")
        client.time_ms += whole(random, 300, 1_500)
        if is_voting:
            client.act(VOTE, item=parent, value=value)
        else:
            item = f"{parent}#c{whole(random, 0, 0xFFFFFFFF):08x}" if parent else site.new_item(time_ms)
            text = offer.format(thing=pick(random, things), shop=shop, number=whole(random, 10, 999))
            client.act(POST, item=item, text=text, parent=parent)
        yield time_ms, client.take()


def _vote_ring(site: Site, random: Random, actor: Actor, number: int, left: int) -> Behaviour:
    """Accounts that vote together: in each campaign, most of them vote for the same item within minutes."""
    size, campaigns = whole(random, 5, 25), whole(random, 5, 20)
    actor.users = [site.people.account() for _ in range(size)]
    # One machine for all accounts, three, or one each.
    actor.addresses = site.addresses.several(pick(random, (1, 3, size)))
    actor.agents = [pick(random, DESKTOPS) for _ in range(3)]
    actor.items = some(random, site.items, campaigns)
    within_ms = min(between(random, 60, 900), site.plan.duration_s / campaigns) * 1000
    actor.traits = {"accounts": size, "campaigns": campaigns, "within_s": round(within_ms / 1000)}
    yield int(size * campaigns * 0.85 * 1.5 * 1.33)
    clients = [
        Client(
            site,
            random,
            (actor.addresses[number % len(actor.addresses)], pick(random, actor.agents)),
            user,
            actor=actor,
        )
        for number, user in enumerate(actor.users)
    ]
    gap_ms = (site.plan.duration_s * 1000 - within_ms) / campaigns

    def vote(client: Client, time_ms: int, item: str) -> None:
        client.time_ms = time_ms
        if random.random() < 0.5:
            client.view(item)
        client.time_ms += 800
        client.act(VOTE, item=item, value=1)

    for number, item in enumerate(actor.items):
        begin_ms = int(site.plan.start_ms + gap_ms * (number + random.random()))
        events: list[Happening] = []
        for client in clients:
            if random.random() < 0.85:
                vote(client, begin_ms + int(random.random() * within_ms), item)
            # A quarter of the votes are ordinary votes for other items.
            if random.random() < 0.28:
                time_ms = begin_ms + int(random.random() * gap_ms)
                vote(client, time_ms, site.item(random, time_ms))
            events += client.take()
        yield begin_ms, events


def _mass_follower(site: Site, random: Random, actor: Actor, number: int, left: int) -> Behaviour:
    """An account that follows hundreds of others in a row; most such accounts unfollow half of them later."""
    plan = site.plan
    actor.users, actor.addresses = [site.people.account()], [site.addresses.next()]
    actor.agents = [pick(random, PHONES)]
    count = min(whole(random, 60, 400), plan.users // 2)
    pace_s = min(between(random, 0.4, 8), plan.duration_s * 0.3 / count)
    unfollow_count = count // 2 if random.random() < 0.6 else 0
    actor.traits = {"follows": count, "pace_s": round(pace_s, 2), "leaves": unfollow_count > 0}
    yield count + unfollow_count
    client = Client(site, random, (actor.addresses[0], None), actor.users[0], actor=actor)
    followees = [person.user for person in some(random, site.people.members, count)]
    time_ms = plan.start_ms + plan.duration_s * 1000 * between(random, 0, 0.3)
    for number, followee in enumerate(followees + followees[:unfollow_count]):
        if number == count:
            time_ms += plan.duration_s * 1000 * 0.2
        client.time_ms = int(time_ms)
        client.act(FOLLOW, followee=followee, is_following=number < count)
        yield int(time_ms), client.take()
        time_ms += pace_s * 1000 * between(random, 0.7, 1.3)


def _credential_stuffing(site: Site, random: Random, actor: Actor, number: int, left: int) -> Behaviour:
    """Logins with names and passwords from a stolen list: from one address, from many, or to a server's sshd."""
    means = ("one address", "many addresses", "one address", "sshd")[number % 4]
    events_per_try = 1 if means == "sshd" else 2
    count = min(whole(random, 100, 900), max(left // events_per_try, 60))
    if means == "many addresses":
        actor.addresses = site.addresses.several(max(20, min(200, count // whole(random, 3, 8))))
        pace_s = between(random, 2, 30)
    else:
        actor.addresses = [site.addresses.next()]
        pace_s = between(random, 0.3, 6)
    pace_s = min(pace_s, site.plan.duration_s * 0.8 / count)
    actor.agents = [] if means == "sshd" else [pick(random, DESKTOPS) for _ in range(whole(random, 1, 3))]
    actor.traits = {"means": means, "tries": count, "pace_s": round(pace_s, 2)}
    success_share = between(random, 0.004, 0.02)
    yield count * events_per_try
    for number, time_ms in enumerate(paced(site, random, count, pace_s, 0.5)):
        address = actor.addresses[number % len(actor.addresses)]
        agent = pick(random, actor.agents) if actor.agents else None
        client = Client(site, random, (address, agent), actor=actor)
        client.time_ms = time_ms
        if means == "sshd":
            user = pick(random, _SERVER_NAMES)
            client.outcome(user, "password" if user == "root" else "invalid user", "sshd")
        elif random.random() < 0.4:
            user = pick(random, site.people.members).user
            client.login(user, None if random.random() < success_share / 0.4 else "password")
        else:
            client.login(f"user{whole(random, 10_000, 99_999)}", "unknown user")
        yield time_ms, client.take()
