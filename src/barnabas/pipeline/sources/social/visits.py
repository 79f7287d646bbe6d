"""Ordinary people: they come, look around, search, vote, write and follow, with pauses, more of them in the evening."""

from __future__ import annotations

from collections.abc import Iterator
from math import fsum
from random import Random

from barnabas.pipeline.events.types import CLICK, SEARCH, EventType
from barnabas.pipeline.sources.social.actors import Actor, Burst, Happening, Source
from barnabas.pipeline.sources.social.chance import LogNormal, pick, seeded, waiting, whole, zipf
from barnabas.pipeline.sources.social.people import Person
from barnabas.pipeline.sources.social.plan import SitePlan
from barnabas.pipeline.sources.social.site import (
    ASSETS,
    ENGINES,
    HOME,
    Site,
    follow,
    post,
    search_page,
    session_name,
    vote,
)

# How busy the hours of a day are beside each other, UTC.
RHYTHM = (8, 5, 4, 3, 3, 4, 7, 12, 16, 18, 19, 20, 21, 20, 19, 19, 20, 22, 25, 28, 30, 28, 21, 13)
_HOUR_MS = 3_600_000
_WARM_UP_MS = 1_200_000
_MEMBER_SHARE = 0.55
_BROKEN_LINK_SHARE = 0.012
_TYPO_SHARE = 0.05


class Rhythm:
    """The site's rate of visits at a time, beside its mean over the plan."""

    def __init__(self, plan: SitePlan) -> None:
        minutes = range(plan.start_ms, plan.end_ms, 60_000)
        self._mean = fsum(_busy(minute) for minute in minutes) / len(minutes)

    def at(self, time_ms: int) -> float:
        """Return the factor: 1 is the mean."""
        return _busy(time_ms) / self._mean


def _busy(time_ms: int) -> float:
    hours, rest = divmod(time_ms, _HOUR_MS)
    now, soon = RHYTHM[hours % 24], RHYTHM[(hours + 1) % 24]
    return now + (soon - now) * rest / _HOUR_MS


class Visits:
    """Makes visits: each is all that somebody does from the first page to the last."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._think_s = LogNormal(14, 1.0)
        self._steps = LogNormal(5, 0.8)
        self._who = zipf(len(site.people.members), 50)
        self._guest = zipf(len(site.people.guests), 50)
        self._followed = zipf(len(site.people.members), 3)
        self._following: dict[str, list[str]] = {}
        self._voted: dict[str, list[str]] = {}

    def source(self, event_count: int, rhythm: Rhythm) -> Source:
        """Return the visits of all ordinary people: about `event_count` events."""
        return Source(self._bursts(event_count, rhythm), event_count)

    def _bursts(self, event_count: int, rhythm: Rhythm) -> Iterator[Burst]:
        plan, people = self._site.plan, self._site.people
        random = seeded(plan.seed, "visits")
        events_per_ms = event_count / (plan.duration_s * 1000)
        # How many events a visit has is measured as they go, so that their sum comes out as asked for.
        visit_count, visit_events = 20, 20 * 12
        # Some are there already when the plan begins; what they did before is cut off by `stream`.
        time_ms = float(plan.start_ms - _WARM_UP_MS)
        while True:
            mean_events = visit_events / visit_count
            time_ms += waiting(random) * mean_events / (events_per_ms * rhythm.at(int(time_ms)))
            if time_ms >= plan.end_ms:
                return
            is_member = random.random() < _MEMBER_SHARE
            person = people.members[self._who.draw(random)] if is_member else people.guests[self._guest.draw(random)]
            # The usual place half the time.
            place = person.places[0] if random.random() < 0.5 else pick(random, person.places)
            events = self.visit(random, person, place, int(time_ms))
            visit_count += 1
            visit_events += len(events)
            yield int(time_ms), events

    def visit(
        self,
        random: Random,
        person: Person,
        place: tuple[str, str],
        start_ms: int,
        *,
        typo_share: float = _TYPO_SHARE,
        login_share: float = 0.2,
        step_count: int = 0,
        actor: Actor | None = None,
    ) -> list[Happening]:
        """Return one visit, in order of time; `step_count` 0 means: as many as people do."""
        visit = _Visit(self._site, random, person, place, start_ms, actor)
        visit.arrive()
        if person.user is not None and random.random() < login_share:
            visit.pause(self._think_s)
            visit.log_in(typo_share)
        followees = self._following.setdefault(person.user, []) if person.user is not None else []
        if person.user is not None and not person.has_been_here:
            for _ in range(whole(random, 1, 4)):
                visit.pause(self._think_s)
                self._follow(visit, random, followees)
        person.has_been_here = True
        for _ in range(step_count or 1 + int(self._steps.draw(random))):
            visit.pause(self._think_s)
            chance = random.random()
            if person.user is None or chance < 0.76:
                visit.look_around()
            elif chance < 0.90:
                self._vote(visit, random)
            elif chance < 0.945:
                visit.comment()
            elif chance < 0.99:
                self._follow(visit, random, followees)
            else:
                visit.post()
        return visit.events

    def _follow(self, visit: _Visit, random: Random, followees: list[str]) -> None:
        if followees and random.random() < 0.1:
            visit.follow(followees.pop(int(random.random() * len(followees))), False)
            return
        followee = self._site.people.members[self._followed.draw(random)].user
        if followee is not None and followee != visit.person.user and followee not in followees:
            followees.append(followee)
            visit.follow(followee, True)

    def _vote(self, visit: _Visit, random: Random) -> None:
        voted = self._voted.setdefault(str(visit.person.user), [])
        if voted and random.random() < 0.06:
            visit.vote(pick(random, voted), pick(random, (0, 0, -1, 1)))
            return
        item = visit.read()
        if item not in voted:
            voted.append(item)
            visit.vote(item, 1 if random.random() < 0.88 else -1)


class _Visit:
    """A visit under way: where it is, what time it is, and what happened so far."""

    def __init__(
        self, site: Site, random: Random, person: Person, place: tuple[str, str], start_ms: int, actor: Actor | None
    ) -> None:
        self.person = person
        self.events: list[Happening] = []
        self._site, self._random, self._place, self._actor = site, random, place, actor
        self._time_ms = start_ms
        self._session = None if person.is_private else session_name(random)
        self._page = "/"
        self._item: str | None = None

    def pause(self, think_s: LogNormal) -> None:
        """Let time pass."""
        self._time_ms += int(think_s.draw(self._random) * 1000)

    def arrive(self) -> None:
        """Look at the first page: the site's own, or an item that somebody or a search engine linked to."""
        random, site = self._random, self._site
        chance = random.random()
        if chance < 0.45:
            self._view("/", None)
        elif chance < 0.75:
            self._come_from_engine()
        else:
            self._item = site.item(random, self._time_ms)
            self._view(self._item, None)
        is_known = self.person.has_been_here
        # Whose browser has the site's files still need not even ask for them.
        for asset in () if is_known and random.random() < 0.3 else ASSETS[: whole(random, 1, 3)]:
            status = 304 if is_known and random.random() < 0.7 else 200
            self._request(self._time_ms + whole(random, 20, 400), asset, HOME + self._page, status)

    def log_in(self, typo_share: float) -> None:
        """Log in, with a mistake first now and then."""
        user = str(self.person.user)
        self._view("/login", HOME + self._page)
        while True:
            self._time_ms += whole(self._random, 3_000, 15_000)
            reason = "password" if self._random.random() < typo_share else None
            self.events += self._site.login(
                self._random, self._time_ms, self._place, user, reason, session=self._session, actor=self._actor
            )
            if reason is None:
                return

    def look_around(self) -> None:
        """Go on to an item, a list of items, a search or somebody's page."""
        random, site = self._random, self._site
        chance = random.random()
        if chance < _BROKEN_LINK_SHARE:
            self._view(site.item(random, self._time_ms)[:-2], HOME + self._page, status=404)
        elif chance < 0.62:
            self._click(site.item(random, self._time_ms), None, None)
        elif chance < 0.78:
            self._view(pick(random, site.topics) if random.random() < 0.7 else "/new", HOME + self._page)
        elif chance < 0.93:
            self._search()
        else:
            self._view(f"/users/{pick(random, site.people.members).user}", HOME + self._page)

    def read(self) -> str:
        """Return the item that is being looked at; go to one where it is none."""
        if self._item is None or self._random.random() < 0.5:
            self._click(self._site.item(self._random, self._time_ms), None, None)
            self._time_ms += whole(self._random, 2_000, 60_000)
        return str(self._item)

    def vote(self, item: str, value: int) -> None:
        """Vote on an item."""
        self.events.append(vote(self._time_ms, self._place, self.person.user, item, value, self._actor))

    def comment(self) -> None:
        """Write something below an item."""
        parent = self.read()
        number = whole(self._random, 0, 0xFFFFFFFF)
        self._write(f"{parent}#c{number:08x}", parent)

    def post(self) -> None:
        """Write a new item."""
        self._write(self._site.write(self._time_ms), None)

    def follow(self, followee: str, is_following: bool) -> None:
        """Follow somebody, or no longer."""
        address, user = self._place[0], self.person.user
        self.events.append(follow(self._time_ms, address, user, followee, is_following, self._actor))

    def _come_from_engine(self) -> None:
        random, site = self._random, self._site
        engine = pick(random, ENGINES)
        if random.random() < 0.35:
            # Some engines still say what was searched for.
            query = site.query(random)
            text = site.queries[query]
            self._item = pick(random, site.results(query))
            source = f"https://{engine}/search?q=" + text.replace(" ", "+")
            self._add(SEARCH, {"query": text, "engine": engine, "result_count": None})
            self._add(CLICK, {"item": self._item, "source": source, "query": text, "position": None})
            self._view(self._item, source)
        else:
            self._item = site.item(random, self._time_ms)
            self._view(self._item, f"https://{engine}/")

    def _search(self) -> None:
        random, site = self._random, self._site
        query = site.query(random)
        text = site.queries[query]
        self._add(SEARCH, {"query": text, "engine": None, "result_count": 10})
        self._view(search_page(text), HOME + self._page)
        if random.random() < 0.75:
            self._time_ms += whole(random, 1_500, 25_000)
            position = site.position.draw(random)
            self._click(site.results(query)[position], text, position + 1)

    def _click(self, item: str, query: str | None, position: int | None) -> None:
        source = self._page
        self._add(CLICK, {"item": item, "source": source, "query": query, "position": position})
        self._item = item
        self._view(item, HOME + source)

    def _view(self, page: str, referrer: str | None, status: int = 0) -> None:
        self._request(self._time_ms, page, referrer, status)
        self._page = page

    def _request(self, time_ms: int, page: str, referrer: str | None, status: int) -> None:
        self.events.append(
            self._site.view(
                self._random,
                time_ms,
                self._place,
                page,
                user=self.person.user,
                session=self._session,
                referrer=None if self.person.is_private else referrer,
                status=status,
                actor=self._actor,
            )
        )

    def _write(self, item: str, parent: str | None) -> None:
        text = self._site.text(self._random, whole(self._random, 5, 40))
        self.events.append(post(self._time_ms, self._place, self.person.user, item, text, parent, self._actor))

    def _add(self, event_type: EventType, fields: dict[str, object]) -> None:
        address, agent = self._place
        whole_fields = {"address": address, "user": self.person.user, **fields, "agent": agent}
        self.events.append((self._time_ms, event_type, whole_fields, self._actor))
