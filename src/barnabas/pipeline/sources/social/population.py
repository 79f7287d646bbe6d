"""Everybody and everything that makes events on a site, with about as many events as the plan asks for."""

from barnabas.pipeline.sources.social.abuse import credential_stuffing, mass_followers, spammers, vote_rings
from barnabas.pipeline.sources.social.actors import Source
from barnabas.pipeline.sources.social.crawlers import declared_crawlers, scrapers
from barnabas.pipeline.sources.social.look_alikes import look_alikes
from barnabas.pipeline.sources.social.machines import machines
from barnabas.pipeline.sources.social.plan import SitePlan
from barnabas.pipeline.sources.social.site import Site
from barnabas.pipeline.sources.social.visits import Rhythm, Visits

# However much misbehaviour a plan asks for, ordinary people make this share of the events.
_LEAST_ORDINARY_SHARE = 0.1


def populate(plan: SitePlan) -> list[Source]:
    """Return all sources of a plan; they are used up by `stream.arrivals`."""
    site, rhythm = Site(plan), Rhythm(plan)
    visits = Visits(site)
    sources = machines(plan, rhythm)
    for kind, share in (
        (declared_crawlers, plan.shares.crawlers),
        (scrapers, plan.shares.scrapers),
        (spammers, plan.shares.spammers),
        (vote_rings, plan.shares.vote_rings),
        (mass_followers, plan.shares.mass_followers),
        (credential_stuffing, plan.shares.credential_stuffing),
    ):
        if share:
            sources += kind(site, max(1, int(share * plan.event_count)))
    if plan.has_look_alikes:
        sources += look_alikes(site, visits)
    others = sum(source.expected for source in sources)
    ordinary = max(plan.event_count - others, int(plan.event_count * _LEAST_ORDINARY_SHARE), 1)
    return [*sources, visits.source(ordinary, rhythm)]
