"""Innocent actors that look like abusers: to accuse one of them of misbehaviour is a false alarm."""

from random import Random

from barnabas.pipeline.events.types import POST, VOTE
from barnabas.pipeline.sources.social.actors import Actor, Behaviour, Source, source_of
from barnabas.pipeline.sources.social.people import DESKTOPS, Person
from barnabas.pipeline.sources.social.random_numbers import early, pick, seeded, some, whole
from barnabas.pipeline.sources.social.site import HOME, Client, Site
from barnabas.pipeline.sources.social.visits import Visit

_FEED_READERS = (
    "Feedly/1.0 (+http://www.feedly.com/fetcher.html; 14 subscribers)",
    "Tiny Tiny RSS/23.12 (https://tt-rss.org/)",
    "NewsBlur Feed Fetcher - 7 subscribers - https://www.newsblur.com",
)
_PROBES = (
    "Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)",
    "check_http/v2.3.3 (monitoring-plugins 2.3.3)",
)
_EVENTS_PER_VISIT = 14


def look_alikes(site: Site) -> list[Source]:
    """Return all look-alikes."""
    sources: list[Source] = []
    for kind, count, make in (
        ("nat_office", 1, _nat_office),
        ("power_reader", 1, _power_reader),
        ("forgotten_password", 3, _forgotten_password),
        ("popular_post", 1, _popular_post),
        ("feed_reader", len(_FEED_READERS), _feed_reader),
        ("monitoring_probe", len(_PROBES), _probe),
    ):
        for number in range(count):
            actor = Actor(kind, f"{kind.replace('_', '-')}-{number}", "address", is_harmful=False)
            actor.addresses, actor.agents = [site.addresses.next()], [DESKTOPS[number]]
            sources.append(source_of(actor, make(site, seeded(site.plan.seed, actor.name), actor, number)))
    return sources


def _nat_office(site: Site, random: Random, actor: Actor, number: int) -> Behaviour:
    """Many people behind one address; many of them mistype their own passwords."""
    plan = site.plan
    # The least active members: most of their visits are these.
    people = site.people.members[-min(40, plan.users // 3) :]
    places = [(actor.addresses[0], pick(random, DESKTOPS)) for _ in people]
    actor.users, actor.agents = [person.user for person in people], sorted({agent for _, agent in places})
    count = max(20, min(3 * len(people), plan.event_count // 1_000))
    actor.traits = {"people": len(people), "visits": count}
    yield count * _EVENTS_PER_VISIT
    for begin_ms in sorted(plan.start_ms + whole(random, 0, plan.duration_s * 1000) for _ in range(count)):
        who = whole(random, 0, len(people) - 1)
        visit = Visit(site, random, people[who], places[who], begin_ms, actor)
        yield begin_ms, visit.run(login_share=0.9, typo_share=0.4)


def _power_reader(site: Site, random: Random, actor: Actor, number: int) -> Behaviour:
    """A person who reads some 300 pages a day."""
    plan, count = site.plan, 4
    person = Person(site.people.account(), ((actor.addresses[0], actor.agents[0]),))
    actor.users = [person.user]
    steps = max(5, min(75, plan.duration_s // 24 // (count + 1)))
    actor.traits = {"visits": count, "steps": steps}
    yield count * (steps * 3 // 2 + 4)
    for number in range(count):
        begin_ms = plan.start_ms + plan.duration_s * 1000 * (2 * number + 1) // (2 * count + 1)
        yield begin_ms, Visit(site, random, person, person.places[0], begin_ms, actor).run(steps)


def _forgotten_password(site: Site, random: Random, actor: Actor, number: int) -> Behaviour:
    """A person who tries to log in eight times with one name, and then remembers the password or gives up."""
    actor.users = [site.people.account()]
    yield 17
    client = Client(site, random, (actor.addresses[0], actor.agents[0]), actor=actor)
    begin_ms = site.plan.start_ms + int(site.plan.duration_s * 1000 * (0.1 + 0.6 * random.random()))
    client.time_ms = begin_ms
    for _ in range(8):
        client.login(actor.users[0], "password")
        client.time_ms += whole(random, 4_000, 30_000)
    if random.random() < 0.6:
        client.login(actor.users[0], None)
    yield begin_ms, client.take()


def _popular_post(site: Site, random: Random, actor: Actor, number: int) -> Behaviour:
    """A post that many honest people vote for within 90 minutes, each from their own address."""
    plan = site.plan
    count = min(plan.users // 4, max(30, plan.event_count // 500))
    voters = some(random, site.people.members[: plan.users // 2], count)
    begin_ms, span_ms = plan.start_ms + plan.duration_s * 400, min(5_400_000, plan.duration_s * 250)
    item = f"/posts/999-{whole(random, 10, 99)}-popular"
    # No field identifies the events.
    actor.subject, actor.addresses, actor.agents = "", [], []
    actor.items, actor.users = [item], sorted(person.user for person in voters)
    actor.traits = {"votes": count, "within_s": span_ms // 1000}
    yield 2 * count + 1
    author = Client(site, random, voters[0].places[0], voters[0].user, actor=actor)
    author.time_ms = begin_ms
    author.act(POST, item=item, text=site.text(random, 30), parent=None)
    yield begin_ms, author.take()
    moments = sorted(begin_ms + 30_000 + int(early(random) * span_ms) for _ in voters)
    for person, time_ms in zip(voters, moments, strict=True):
        client = Client(site, random, pick(random, person.places), person.user, actor=actor)
        client.time_ms = time_ms
        client.view(item, f"{HOME}/")
        client.time_ms += whole(random, 4_000, 90_000)
        client.act(VOTE, item=item, value=1)
        yield time_ms, client.take()


def _feed_reader(site: Site, random: Random, actor: Actor, number: int) -> Behaviour:
    actor.agents = [_FEED_READERS[number]]
    yield from _regular(site, random, actor, "/feed.xml", pick(random, (900, 1_800, 3_600)), (304, 304, 304, 304, 200))


def _probe(site: Site, random: Random, actor: Actor, number: int) -> Behaviour:
    actor.agents = [_PROBES[number]]
    yield from _regular(site, random, actor, "/", 60 if site.plan.events_per_s >= 1 else 300, (200,))


def _regular(
    site: Site, random: Random, actor: Actor, page: str, interval_s: int, statuses: tuple[int, ...]
) -> Behaviour:
    """The same request at regular intervals, by an agent that identifies itself."""
    actor.is_declared = True
    yield site.plan.duration_s // interval_s
    client = Client(site, random, (actor.addresses[0], actor.agents[0]), actor=actor)
    time_ms = site.plan.start_ms + int(random.random() * interval_s * 1000)
    while time_ms < site.plan.end_ms:
        client.time_ms = time_ms
        client.view(page, status=pick(random, statuses))
        yield time_ms, client.take()
        time_ms += interval_s * 1000 + whole(random, -500, 500)
