"""Misbehaviour by accounts: spam, votes and follows by agreement, logins with stolen passwords.

Each actor has a strength of its own, from what no person could do to what some people do.
"""

from collections.abc import Iterator
from random import Random

from barnabas.pipeline.sources.social.actors import Actor, Burst, Happening, Source
from barnabas.pipeline.sources.social.chance import LogNormal, between, pick, seeded, shuffled, some, whole
from barnabas.pipeline.sources.social.people import desktop_agent, phone_agent
from barnabas.pipeline.sources.social.site import HOME, Site, follow, login, post, vote

_OFFERS = (
    "Cheap {thing} now!!! Visit https://{shop}.example/{number}",
    "I earned {number} dollars a week from home with {thing}, ask me how: https://{shop}.example",
    "Best {thing} of 2026, {number} % off only today at {shop}.example",
    "You won't believe this {thing} trick ({number} people do) https://{shop}.example/x",
)
_THINGS = ("watches", "pills", "crypto coins", "followers", "casino chips", "loans", "handbags")
_SERVER_NAMES = ("root", "admin", "test", "ubuntu", "oracle", "postgres", "git", "deploy", "backup", "pi", "ftpuser")


def spammers(site: Site, event_count: int) -> list[Source]:
    """Return accounts that post nearly the same thing many times, or vote for anything, one after the other."""
    random = seeded(site.plan.seed, "spammers")
    size = LogNormal(60, 0.8)
    sources: list[Source] = []
    while event_count > 0:
        actor = Actor("spammer", f"spammer-{len(sources)}", "user")
        actor.users = [site.people.account()]
        actor.addresses, actor.agents = [site.addresses.next()], [desktop_agent(random)]
        is_voting = random.random() < 0.25
        # People do vote for some items in a row, and hardly ever write so much.
        count = max(20, int(size.draw(random))) * (3 if is_voting else 1)
        pace_s = between(random, 2, 20) if random.random() < 0.5 else between(random, 20, 240)
        pace_s = min(pace_s, site.plan.duration_s * 0.8 / count)
        actor.traits = {"pace_s": round(pace_s, 1), "means": "votes" if is_voting else "posts"}
        bursts = _spam_votes(site, actor, count, pace_s) if is_voting else _spam_posts(site, actor, count, pace_s)
        # Half the posts and votes come with a look at the page first.
        sources.append(Source(bursts, count * 3 // 2, actor))
        event_count -= count * 3 // 2
    return sources


def _begin_ms(site: Site, random: Random, length_s: float) -> float:
    spare_s = max(0.0, site.plan.duration_s - length_s * 1.1)
    return site.plan.start_ms + spare_s * 1000 * random.random()


def _looked_at(site: Site, random: Random, time_ms: int, actor: Actor, item: str) -> list[Happening]:
    if random.random() < 0.5:
        return []
    place = (actor.addresses[0], actor.agents[0])
    return [site.view(random, time_ms, place, item, user=actor.users[0], referrer=f"{HOME}/new", actor=actor)]


def _spam_posts(site: Site, actor: Actor, count: int, pace_s: float) -> Iterator[Burst]:
    random = seeded(site.plan.seed, actor.name)
    offer, shop = pick(random, _OFFERS), f"{pick(random, _THINGS).replace(' ', '-')}-{whole(random, 10, 99)}"
    things = some(random, _THINGS, whole(random, 1, 3))
    time_ms = _begin_ms(site, random, count * pace_s)
    for _ in range(count):
        is_comment = random.random() < 0.7
        parent = site.item(random, int(time_ms)) if is_comment else None
        events = _looked_at(site, random, int(time_ms), actor, parent) if parent else []
        item = f"{parent}#c{whole(random, 0, 0xFFFFFFFF):08x}" if parent else site.write(int(time_ms))
        text = offer.format(thing=pick(random, things), shop=shop, number=whole(random, 10, 999))
        place = (actor.addresses[0], actor.agents[0])
        events.append(post(int(time_ms) + whole(random, 500, 1_500), place, actor.users[0], item, text, parent, actor))
        yield int(time_ms), events
        time_ms += pace_s * 1000 * between(random, 0.6, 1.4)


def _spam_votes(site: Site, actor: Actor, count: int, pace_s: float) -> Iterator[Burst]:
    random = seeded(site.plan.seed, actor.name)
    value = 1 if random.random() < 0.6 else -1
    items = shuffled(random, site.items)
    time_ms = _begin_ms(site, random, count * pace_s)
    for number in range(count):
        item = items[number % len(items)]
        events = _looked_at(site, random, int(time_ms), actor, item)
        place = (actor.addresses[0], actor.agents[0])
        events.append(vote(int(time_ms) + whole(random, 300, 900), place, actor.users[0], item, value, actor))
        yield int(time_ms), events
        time_ms += pace_s * 1000 * between(random, 0.6, 1.4)


def vote_rings(site: Site, event_count: int) -> list[Source]:
    """Return groups of accounts of which most vote for the same items within minutes, several times."""
    random = seeded(site.plan.seed, "vote rings")
    sources: list[Source] = []
    while event_count > 0:
        actor = Actor("vote_ring", f"vote-ring-{len(sources)}", "user")
        size, campaigns = whole(random, 5, 25), whole(random, 5, 20)
        actor.users = [site.people.account() for _ in range(size)]
        # One machine for all, a few, or one each.
        actor.addresses = site.addresses.several(pick(random, (1, 3, size)))
        actor.agents = [desktop_agent(random) for _ in range(3)]
        within_s = min(between(random, 60, 900), site.plan.duration_s / campaigns)
        actor.traits = {"accounts": size, "campaigns": campaigns, "within_s": round(within_s)}
        # A third of the votes are others, to look like people; half come with a look at the page.
        expected = int(size * campaigns * 0.85 * 1.5 * 1.33)
        sources.append(Source(_ring(site, actor, campaigns, within_s), expected, actor))
        event_count -= expected
    return sources


def _ring(site: Site, actor: Actor, campaigns: int, within_s: float) -> Iterator[Burst]:
    random = seeded(site.plan.seed, actor.name)
    actor.items = some(random, site.items, campaigns)
    places = [
        (actor.addresses[number % len(actor.addresses)], pick(random, actor.agents))
        for number in range(len(actor.users))
    ]
    gap_ms = (site.plan.duration_s * 1000 - within_s * 1000) / campaigns
    for number, item in enumerate(actor.items):
        begin_ms = int(site.plan.start_ms + gap_ms * (number + random.random()))
        events: list[Happening] = []
        for user, place in zip(actor.users, places, strict=True):
            if random.random() < 0.85:
                time_ms = begin_ms + int(random.random() * within_s * 1000)
                events += _ring_vote(site, random, time_ms, actor, user, place, item)
            if random.random() < 0.28:
                time_ms = begin_ms + int(random.random() * gap_ms)
                events += _ring_vote(site, random, time_ms, actor, user, place, site.item(random, time_ms))
        yield begin_ms, events


def _ring_vote(
    site: Site, random: Random, time_ms: int, actor: Actor, user: str, place: tuple[str, str], item: str
) -> list[Happening]:
    events = [vote(time_ms + 800, place, user, item, 1, actor)]
    if random.random() < 0.5:
        events.append(site.view(random, time_ms, place, item, user=user, actor=actor))
    return events


def mass_followers(site: Site, event_count: int) -> list[Source]:
    """Return accounts that follow some hundred others at once, and leave half of them again later."""
    random = seeded(site.plan.seed, "mass followers")
    sources: list[Source] = []
    while event_count > 0:
        actor = Actor("mass_follower", f"mass-follower-{len(sources)}", "user")
        actor.users = [site.people.account()]
        actor.addresses, actor.agents = [site.addresses.next()], [phone_agent(random)]
        count = min(whole(random, 60, 400), len(site.people.members) // 2)
        pace_s = min(between(random, 0.4, 8), site.plan.duration_s * 0.3 / count)
        leaves = random.random() < 0.6
        actor.traits = {"follows": count, "pace_s": round(pace_s, 2), "leaves": leaves}
        expected = count + (count // 2 if leaves else 0)
        sources.append(Source(_follows(site, actor, count, pace_s, leaves), expected, actor))
        event_count -= expected
    return sources


def _follows(site: Site, actor: Actor, count: int, pace_s: float, leaves: bool) -> Iterator[Burst]:
    random = seeded(site.plan.seed, actor.name)
    followees = [str(person.user) for person in some(random, site.people.members, count)]
    acts = [(followee, True) for followee in followees]
    time_ms = site.plan.start_ms + site.plan.duration_s * 1000 * between(random, 0, 0.3)
    pause_ms = site.plan.duration_s * 1000 * 0.2
    if leaves:
        acts += [(followee, False) for followee in followees[: count // 2]]
    for number, (followee, is_following) in enumerate(acts):
        if number == count:
            time_ms += pause_ms
        yield int(time_ms), [follow(int(time_ms), actor.addresses[0], actor.users[0], followee, is_following, actor)]
        time_ms += pace_s * 1000 * between(random, 0.7, 1.3)


def credential_stuffing(site: Site, event_count: int) -> list[Source]:
    """Return logins with names and passwords of a stolen list: from one address, from many, or at a server's ssh."""
    random = seeded(site.plan.seed, "credential stuffing")
    sources: list[Source] = []
    while event_count > 0:
        number = len(sources)
        means = ("one address", "many addresses", "one address", "sshd")[number % 4]
        actor = Actor("credential_stuffing", f"stuffing-{number}", "address")
        requests_per_try = 1 if means == "sshd" else 2
        tries = min(whole(random, 100, 900), max(event_count // requests_per_try, 60))
        if means == "many addresses":
            each = whole(random, 3, 8)
            actor.addresses = site.addresses.several(max(20, min(200, tries // each)))
            pace_s = between(random, 2, 30)
        else:
            actor.addresses = [site.addresses.next()]
            pace_s = between(random, 0.3, 6)
        pace_s = min(pace_s, site.plan.duration_s * 0.8 / tries)
        actor.agents = [] if means == "sshd" else [desktop_agent(random) for _ in range(whole(random, 1, 3))]
        actor.traits = {"means": means, "tries": tries, "pace_s": round(pace_s, 2)}
        sources.append(Source(_tries(site, actor, tries, pace_s), tries * requests_per_try, actor))
        event_count -= tries * requests_per_try
    return sources


def _tries(site: Site, actor: Actor, tries: int, pace_s: float) -> Iterator[Burst]:
    random = seeded(site.plan.seed, actor.name)
    success_share = between(random, 0.004, 0.02)
    time_ms = _begin_ms(site, random, tries * pace_s)
    for number in range(tries):
        address = actor.addresses[number % len(actor.addresses)]
        if not actor.agents:
            user = pick(random, _SERVER_NAMES)
            reason = "password" if user == "root" else "invalid user"
            events = [login(int(time_ms), (address, None), user, reason, "sshd", actor)]
        else:
            is_known = random.random() < 0.4
            user = str(pick(random, site.people.members).user) if is_known else f"user{whole(random, 10_000, 99_999)}"
            reason = "password" if is_known else "unknown user"
            is_success = is_known and random.random() < success_share / 0.4
            place = (address, pick(random, actor.agents))
            events = site.login(random, int(time_ms), place, user, None if is_success else reason, actor=actor)
        yield int(time_ms), events
        time_ms += pace_s * 1000 * between(random, 0.5, 1.5)
