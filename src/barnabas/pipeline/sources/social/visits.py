"""Visits of ordinary people: pages, searches, votes, posts and follows with pauses, more of them in the evening."""

from collections.abc import Iterator
from random import Random

from barnabas.pipeline.events.types import CLICK, FOLLOW, POST, SEARCH, VOTE
from barnabas.pipeline.sources.social.actors import Actor, Burst, Happening
from barnabas.pipeline.sources.social.people import Person
from barnabas.pipeline.sources.social.random_numbers import WAITS, log_normal, pick, rank, seeded, whole, zipf
from barnabas.pipeline.sources.social.site import ASSETS, HOME, Client, Site

_ENGINES = ("www.google.com", "www.bing.com", "duckduckgo.com", "search.brave.com", "www.ecosia.org")
_THINK_MS = log_normal(14_000, 1.0)
_STEPS = log_normal(5, 0.8)
_POSITIONS = zipf(10)
_WARM_UP_MS = 1_200_000
_MEMBER_SHARE = 0.55


def ordinary_visits(site: Site, event_count: int) -> Iterator[Burst]:
    """Yield the visits of all ordinary people, with about `event_count` events."""
    plan, people = site.plan, site.people
    random = seeded(plan.seed, "visits")
    crowds = [(each, zipf(len(each), 50)) for each in (people.members, people.guests)]
    events_per_ms = event_count / (plan.duration_s * 1000)
    # The mean number of events per visit is measured, so that the total matches. The visits before the start
    # fill the first minutes; `stream` drops their events before the start.
    visit_count, visit_events = 20, 20 * 12
    time_ms = float(plan.start_ms - _WARM_UP_MS)
    while True:
        mean_events = visit_events / visit_count
        time_ms += pick(random, WAITS) * mean_events / (events_per_ms * site.rhythm(int(time_ms)))
        if time_ms >= plan.end_ms:
            return
        crowd, ranks = crowds[random.random() >= _MEMBER_SHARE]
        person = crowd[rank(random, ranks)]
        place = person.places[0] if random.random() < 0.5 else pick(random, person.places)
        events = Visit(site, random, person, place, int(time_ms)).run()
        visit_count += 1
        visit_events += len(events)
        yield int(time_ms), events


def session_name(random: Random) -> str:
    """Return a random session name."""
    return f"{whole(random, 0, 0xFFFFFFFFFF):010x}"


class Visit(Client):
    """One visit of a person at a place: everything from the first page to the last."""

    def __init__(
        self,
        site: Site,
        random: Random,
        person: Person,
        place: tuple[str, str],
        start_ms: int,
        actor: Actor | None = None,
    ) -> None:
        super().__init__(site, random, place, person.user, None if person.is_private else session_name(random), actor)
        self._person = person
        self.sends_referrer = not person.is_private
        self.time_ms = start_ms
        self._page = "/"
        self._item = ""

    def run(self, step_count: int = 0, login_share: float = 0.2, typo_share: float = 0.05) -> list[Happening]:
        """Return the visit's events: the first page, then `step_count` steps; 0: a random number, as people take.

        `login_share` is the share of members' visits with a login, `typo_share` that of logins with a wrong password.
        """
        random, person = self.random, self._person
        self._arrive()
        if person.user and random.random() < login_share:
            self._pause()
            self._log_in(typo_share)
        if person.user and not person.is_known:
            for _ in range(whole(random, 1, 4)):
                self._pause()
                self._follow()
        person.is_known = True
        for _ in range(step_count or 1 + int(pick(random, _STEPS))):
            self._pause()
            chance = random.random()
            if not person.user or chance < 0.76:
                self._look_around()
            elif chance < 0.90:
                self._vote()
            elif chance < 0.945:
                parent = self._read()
                self._write(f"{parent}#c{whole(random, 0, 0xFFFFFFFF):08x}", parent)
            elif chance < 0.99:
                self._follow()
            else:
                self._write(self.site.new_item(self.time_ms), None)
        return self.events

    def _pause(self) -> None:
        self.time_ms += int(pick(self.random, _THINK_MS))

    def _arrive(self) -> None:
        random, is_known = self.random, self._person.is_known
        chance = random.random()
        if chance < 0.45:
            self._go("/", None)
        elif chance < 0.75:
            self._come_from_engine()
        else:
            self._item = self.site.item(random, self.time_ms)
            self._go(self._item, None)
        # A browser with a warm cache requests no assets.
        for asset in () if is_known and random.random() < 0.3 else ASSETS[: whole(random, 1, 3)]:
            status = 304 if is_known and random.random() < 0.7 else 200
            self.view(asset, HOME + self._page, status, delay_ms=whole(random, 20, 400))

    def _come_from_engine(self) -> None:
        random, engine = self.random, pick(self.random, _ENGINES)
        if random.random() < 0.35:
            # Some engines send the query with the click.
            query, results = self.site.search(random)
            self._item = pick(random, results)
            source = f"https://{engine}/search?q={query.replace(' ', '+')}"
            self.act(SEARCH, query=query, engine=engine, result_count=None)
            self.act(CLICK, item=self._item, source=source, query=query, position=None)
            self._go(self._item, source)
        else:
            self._item = self.site.item(random, self.time_ms)
            self._go(self._item, f"https://{engine}/")

    def _log_in(self, typo_share: float) -> None:
        self._go("/login", HOME + self._page)
        is_wrong = True
        while is_wrong:
            self.time_ms += whole(self.random, 3_000, 15_000)
            is_wrong = self.random.random() < typo_share
            self.login(self._person.user, "password" if is_wrong else None)

    def _look_around(self) -> None:
        random, site = self.random, self.site
        chance = random.random()
        if chance < 0.012:
            # A broken link.
            self._go(site.item(random, self.time_ms)[:-2], HOME + self._page, 404)
        elif chance < 0.62:
            self._click(site.item(random, self.time_ms))
        elif chance < 0.78:
            self._go(pick(random, site.topics) if random.random() < 0.7 else "/new", HOME + self._page)
        elif chance < 0.93:
            query, results = site.search(random)
            self.act(SEARCH, query=query, engine=None, result_count=10)
            self._go(f"/search?q={query.replace(' ', '+')}", HOME + self._page)
            if random.random() < 0.75:
                self.time_ms += whole(random, 1_500, 25_000)
                position = rank(random, _POSITIONS)
                self._click(results[position], query, position + 1)
        else:
            self._go(f"/users/{pick(random, site.people.members).user}", HOME + self._page)

    def _read(self) -> str:
        if not self._item or self.random.random() < 0.5:
            self._click(self.site.item(self.random, self.time_ms))
            self.time_ms += whole(self.random, 2_000, 60_000)
        return self._item

    def _vote(self) -> None:
        random, voted = self.random, self._person.voted
        if voted and random.random() < 0.06:
            self.act(VOTE, item=pick(random, voted), value=pick(random, (0, 0, -1, 1)))
            return
        item = self._read()
        if item not in voted:
            voted.append(item)
            self.act(VOTE, item=item, value=1 if random.random() < 0.88 else -1)

    def _write(self, item: str, parent: str | None) -> None:
        self.act(POST, item=item, text=self.site.text(self.random, whole(self.random, 5, 40)), parent=parent)

    def _follow(self) -> None:
        random, followees = self.random, self._person.followees
        if followees and random.random() < 0.1:
            followee = followees.pop(int(random.random() * len(followees)))
            self.act(FOLLOW, followee=followee, is_following=False)
            return
        members = self.site.people.members
        followee = members[rank(random, self.site.followee_ranks)].user
        if followee != self.user and followee not in followees:
            followees.append(followee)
            self.act(FOLLOW, followee=followee, is_following=True)

    def _click(self, item: str, query: str | None = None, position: int | None = None) -> None:
        self.act(CLICK, item=item, source=self._page, query=query, position=position)
        self._item = item
        self._go(item, HOME + self._page)

    def _go(self, page: str, referrer: str | None, status: int = 0) -> None:
        self.view(page, referrer, status)
        self._page = page
