"""Innocents who look like misbehaviour: who calls them by its name raises a false alarm."""

from collections.abc import Iterator
from random import Random

from barnabas.pipeline.sources.social.actors import Actor, Burst, Happening, Source
from barnabas.pipeline.sources.social.chance import early, pick, seeded, some, whole
from barnabas.pipeline.sources.social.crawlers import regular_requests
from barnabas.pipeline.sources.social.people import Person, desktop_agent
from barnabas.pipeline.sources.social.site import HOME, Site, post, vote
from barnabas.pipeline.sources.social.visits import Visits

_READERS = (
    "Feedly/1.0 (+http://www.feedly.com/fetcher.html; 14 subscribers)",
    "Tiny Tiny RSS/23.12 (https://tt-rss.org/)",
    "NewsBlur Feed Fetcher - 7 subscribers - https://www.newsblur.com",
    "FreshRSS/1.24.3 (Linux; https://freshrss.org)",
)
_PROBES = (
    "Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)",
    "check_http/v2.3.3 (monitoring-plugins 2.3.3)",
)
_EVENTS_PER_VISIT = 14
_OFFICE_TYPO_SHARE = 0.4


def look_alikes(site: Site, visits: Visits) -> list[Source]:
    """Return all of them."""
    random = seeded(site.plan.seed, "look-alikes")
    sources = [_nat_office(site, visits, random), _power_reader(site, visits, random)]
    sources += [_forgotten_password(site, random, number) for number in range(3)]
    sources.append(_popular_post(site, random))
    for number, agent in enumerate(some(random, _READERS, 3)):
        actor = _machine(site, "feed_reader", number, agent)
        interval_s = pick(random, (900, 1_800, 3_600))
        sources.append(regular_requests(site, actor, "/feed.xml", interval_s, _mostly_unchanged))
    for number, agent in enumerate(_PROBES):
        actor = _machine(site, "monitoring_probe", number, agent)
        sources.append(regular_requests(site, actor, "/", 60 if site.plan.events_per_s >= 1 else 300, _always_ok))
    return sources


def _machine(site: Site, kind: str, number: int, agent: str) -> Actor:
    actor = Actor(kind, f"{kind.replace('_', '-')}-{number}", "address", is_harmful=False, is_declared=True)
    actor.addresses, actor.agents = [site.addresses.next()], [agent]
    return actor


def _mostly_unchanged(random: Random) -> int:
    return 304 if random.random() < 0.8 else 200


def _always_ok(random: Random) -> int:
    return 200


def _nat_office(site: Site, visits: Visits, random: Random) -> Source:
    """Many people behind one address, of whom many mistype their passwords, each their own."""
    plan = site.plan
    actor = Actor("nat_office", "nat-office-0", "address", is_harmful=False)
    actor.addresses = [site.addresses.next()]
    # The least active members, so that most of what they do is done here.
    people = site.people.members[-min(40, plan.users // 3) :]
    actor.users = [str(person.user) for person in people]
    places = [(actor.addresses[0], desktop_agent(random)) for _ in people]
    actor.agents = sorted({agent for _, agent in places})
    visit_count = max(20, min(3 * len(people), plan.event_count // 1_000))
    actor.traits = {"people": len(people), "visits": visit_count}

    def bursts() -> Iterator[Burst]:
        own_random = seeded(plan.seed, actor.name)
        begins = sorted(plan.start_ms + int(own_random.random() * plan.duration_s * 1000) for _ in range(visit_count))
        for begin_ms in begins:
            who = int(own_random.random() * len(people))
            events = visits.visit(
                own_random,
                people[who],
                places[who],
                begin_ms,
                typo_share=_OFFICE_TYPO_SHARE,
                login_share=0.9,
                actor=actor,
            )
            yield begin_ms, events

    return Source(bursts(), visit_count * _EVENTS_PER_VISIT, actor)


def _power_reader(site: Site, visits: Visits, random: Random) -> Source:
    """Somebody who reads some 300 pages a day."""
    plan = site.plan
    actor = Actor("power_reader", "power-reader-0", "address", is_harmful=False)
    person = Person(site.people.account(), ((site.addresses.next(), desktop_agent(random)),))
    actor.users = [str(person.user)]
    actor.addresses, actor.agents = [person.places[0][0]], [person.places[0][1]]
    visit_count = 4
    steps = max(5, min(75, plan.duration_s // 24 // (visit_count + 1)))
    actor.traits = {"visits": visit_count, "steps": steps}

    def bursts() -> Iterator[Burst]:
        own_random = seeded(plan.seed, actor.name)
        for number in range(visit_count):
            begin_ms = plan.start_ms + plan.duration_s * 1000 * (2 * number + 1) // (2 * visit_count + 1)
            yield begin_ms, visits.visit(own_random, person, person.places[0], begin_ms, step_count=steps, actor=actor)

    return Source(bursts(), visit_count * (steps * 3 // 2 + 4), actor)


def _forgotten_password(site: Site, random: Random, number: int) -> Source:
    """Somebody who tries eight times, with one name, and is let in or gives up."""
    plan = site.plan
    actor = Actor("forgotten_password", f"forgotten-password-{number}", "address", is_harmful=False)
    actor.users, actor.addresses = [site.people.account()], [site.addresses.next()]
    actor.agents = [desktop_agent(random)]
    begin_ms = plan.start_ms + int(plan.duration_s * 1000 * (0.1 + 0.6 * random.random()))

    def bursts() -> Iterator[Burst]:
        own_random = seeded(plan.seed, actor.name)
        time_ms, events = begin_ms, list[Happening]()
        for attempt in range(9):
            reason = None if attempt == 8 else "password"
            if reason is None and own_random.random() < 0.4:
                break
            place = (actor.addresses[0], actor.agents[0])
            events += site.login(own_random, time_ms, place, actor.users[0], reason, actor=actor)
            time_ms += whole(own_random, 4_000, 30_000)
        yield begin_ms, events

    return Source(bursts(), 17, actor)


def _popular_post(site: Site, random: Random) -> Source:
    """A post that many honest people vote for within an hour, each from where they are."""
    plan = site.plan
    actor = Actor("popular_post", "popular-post-0", "", is_harmful=False)
    count = min(plan.users // 4, max(30, plan.event_count // 500))
    voters = some(random, site.people.members[: plan.users // 2], count)
    begin_ms = plan.start_ms + plan.duration_s * 400
    span_ms = min(5_400_000, plan.duration_s * 250)
    actor.traits = {"votes": count, "within_s": span_ms // 1000}
    actor.items = [f"/posts/{999}-{whole(random, 10, 99)}-popular"]
    actor.users = sorted(str(person.user) for person in voters)

    def bursts() -> Iterator[Burst]:
        own_random = seeded(plan.seed, actor.name)
        item, author = actor.items[0], voters[0]
        text = site.text(own_random, 30)
        yield begin_ms, [post(begin_ms, author.places[0], author.user, item, text, None, actor)]
        # Most come soon.
        moments = sorted(begin_ms + 30_000 + int(early(own_random) * span_ms) for _ in voters)
        for person, time_ms in zip(voters, moments, strict=True):
            place = pick(own_random, person.places)
            view = site.view(own_random, time_ms, place, item, user=person.user, referrer=f"{HOME}/", actor=actor)
            yield time_ms, [view, vote(time_ms + whole(own_random, 4_000, 90_000), place, person.user, item, 1, actor)]

    return Source(bursts(), 2 * count + 1, actor)
