"""How good the job "security" is: against a made-up site's ground truth, and against what a real log's agents declare.

    python -m tests.pipeline.security_scores social SEED...
    python -m tests.pipeline.security_scores log FILE

print the tables that benchmarks/results/2026-11-28-security.md shows.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barnabas.pipeline.facts import once
from barnabas.pipeline.job import Parameters
from barnabas.pipeline.jobs.security import JOB, aggregate, refresh
from barnabas.pipeline.jobs.security.crawlers import find_crawlers
from barnabas.pipeline.jobs.security.facts import FACTS, with_seen
from barnabas.pipeline.jobs.security.scoring import VERDICTS
from barnabas.pipeline.jobs.security.visitors import NO_AGENT, visitor_figures, with_shares
from barnabas.pipeline.sources.access_log import View, parse_line, read_lines
from barnabas.pipeline.sources.access_log_events import access_log_lines, most_common_site
from barnabas.pipeline.sources.log_lines import RawLine
from barnabas.pipeline.sources.social import Shares, SitePlan, Truth
from tests.pipeline.activity import Event, tables_of
from tests.pipeline.literal_events import facts_of
from tests.spark import shared_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# What the rules were tuned on, and what they were not.
TUNED_SEEDS = (1, 2, 3, 4, 1001, 1002, 1003)
HELD_OUT_SEEDS = (2001, 2002, 2003)

# By what is looked for: which verdicts, about which kind of subject, and which actors of the ground truth.
_GROUPS = {
    "crawlers": ({"declared_bot", "crawler", "scraper"}, "visitor", {"crawler", "scraper"}),
    "spammers": ({"spammer", "vote_ring"}, "user", {"spammer", "vote_ring", "mass_follower"}),
    "credential stuffing": ({"credential_stuffing", "password_guessing"}, "address", {"credential_stuffing"}),
}

# Independent of the job's pattern, and simpler: the words of a bot, a crawler, a spider, a feed reader.
DECLARES = re.compile(r"bot|crawl|spider|slurp|archiver|feed|rss|reader|subscriber|fetcher", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Score:
    """What was found of a group: subjects rightly and wrongly accused, and missed."""

    right: frozenset[str]
    wrong: frozenset[str]
    missed: frozenset[str]

    @property
    def precision(self) -> float:
        """Which share of the accused is guilty."""
        return len(self.right) / max(1, len(self.right) + len(self.wrong))

    @property
    def recall(self) -> float:
        """Which share of the guilty is accused."""
        return len(self.right) / max(1, len(self.right) + len(self.missed))


def verdicts_of(facts: DataFrame, parameters: Parameters) -> DataFrame:
    """Give the verdicts that facts lead to."""
    return refresh(aggregate({FACTS: facts, f"all_{FACTS}": facts}, parameters), parameters)[VERDICTS]


def plan_of(seed: int) -> SitePlan:
    """Give a small site's day: some 35,000 events that the job looks at, with enough misbehaviour to count."""
    return SitePlan(seed=seed, events_per_s=1.0, shares=Shares(late=0.02))


def site_scores(spark: SparkSession, plan: SitePlan) -> dict[str, Score]:
    """Run the job over a made-up site and hold its verdicts against the truth."""
    truth = Truth(plan)
    events = ((arrival.event_type, arrival.fields) for arrival in truth.arrivals() if not arrival.reason)
    facts = facts_of(spark, JOB, tables_of(JOB, events))
    rows = verdicts_of(facts, JOB.defaults()).select("subject_kind", "subject", "what").collect()
    told = truth.to_json()
    return {group: _score(group, [tuple(row) for row in rows], told) for group in _GROUPS}


def _score(group: str, verdicts: list[tuple[str, str, str]], truth: Mapping[str, Any]) -> Score:
    whats, subject_kind, kinds = _GROUPS[group]
    guilty = {
        subject for actor in truth["actors"] if actor["kind"] in kinds for subject in _subjects(actor, subject_kind)
    }
    # To call a feed reader what it calls itself does it no wrong.
    not_wronged = {
        subject for actor in truth["look_alikes"] if actor["is_declared"] for subject in _subjects(actor, subject_kind)
    }
    found = {subject for kind, subject, what in verdicts if what in whats and kind == subject_kind}
    # An agent as a whole is never guilty here: scrapers have the agents of people.
    others = {subject for kind, subject, what in verdicts if what in whats and kind != subject_kind}
    return Score(
        frozenset(found & guilty), frozenset((found - guilty - not_wronged) | others), frozenset(guilty - found)
    )


def _subjects(actor: Mapping[str, Any], subject_kind: str) -> Iterator[str]:
    match subject_kind:
        case "visitor":
            yield from (f"{address} {agent}" for address in actor["addresses"] for agent in actor["agents"])
        case "user":
            yield from actor["users"]
        case _:
            yield from actor["addresses"]


def site_table(scores: Mapping[int, Mapping[str, Score]]) -> str:
    """Give the scores of some seeds, as a table for the docs."""
    lines = ["| seed | looked for | guilty | accused | precision | recall |", "| --- | --- | --- | --- | --- | --- |"]
    for seed, of_groups in scores.items():
        for group, score in of_groups.items():
            guilty, accused = len(score.right) + len(score.missed), len(score.right) + len(score.wrong)
            lines.append(f"| {seed} | {group} | {guilty} | {accused} | {score.precision:.3f} | {score.recall:.3f} |")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class LogScore:
    """What the job says of a log.

    Attributes:
        undeclared: Requests whose agent has one of the words of `DECLARES`, and whose visitor has no verdict.
        bots: Declared agents of 20 requests and more: how many requests.
        missed: Those of them that behaviour alone does not find, from any address nor as an agent.
        accused: Agents that declare nothing, found by behaviour alone: how many requests, and the reason.
    """

    undeclared: list[View]
    bots: dict[str, int]
    missed: dict[str, int]
    accused: dict[str, tuple[int, str]]


def log_score(spark: SparkSession, path: Path) -> LogScore:
    """Run the job over an access log; beside it the rules of behaviour alone, over all agents."""
    lines = list(read_lines(path))
    views = [view for number, text in lines if (view := parse_line(number, text)) is not None]
    plan = most_common_site(path)
    raw = (RawLine("log", number, text) for number, text in lines)
    events: Iterator[Event] = (event for line in access_log_lines(raw, plan) for event in line.events)
    facts = facts_of(spark, JOB, tables_of(JOB, events))
    verdicts = verdicts_of(facts, JOB.defaults()).where("is_declared").collect()
    behaviour = _behaviour(facts)
    declared = {row["subject"] for row in verdicts}
    requests = Counter(view.agent or NO_AGENT for view in views)
    bots = {agent: count for agent, count in requests.items() if DECLARES.search(agent) and count >= 20}
    said = {row["agent"] for row in verdicts}
    return LogScore(
        [
            view
            for view in views
            if DECLARES.search(view.agent or "") and f"{view.address} {view.agent}" not in declared
        ],
        bots,
        {agent: count for agent, count in bots.items() if agent not in behaviour},
        {agent: (requests[agent], why) for agent, why in sorted(behaviour.items()) if agent not in said},
    )


def _behaviour(facts: DataFrame) -> dict[str, str]:
    """Give the agents that the rules of behaviour find, as agents or at some address, and a reason of each."""
    figures = with_shares(visitor_figures(once(with_seen(facts)))).localCheckpoint()
    reasons: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
    for row in find_crawlers(figures, JOB.defaults()).collect():
        reasons[row["agent"]].append((-row["score"], row["why"]))
    return {agent: min(found)[1] for agent, found in reasons.items()}


def log_tables(score: LogScore) -> str:
    """Give misses and accused of a log, as tables for the docs."""
    found = len(score.bots) - len(score.missed)
    lines = [f"Found {found} of {len(score.bots)} declared bots by behaviour alone. Missed:", ""]
    lines += ["| agent | requests |", "| --- | --- |"]
    lines += [f"| `{agent[:80]}` | {count} |" for agent, count in sorted(score.missed.items())]
    lines += ["", "Accused, though their agents declare nothing:", ""]
    lines += ["| agent | requests | why |", "| --- | --- | --- |"]
    lines += [f"| `{agent[:80]}` | {count} | {why} |" for agent, (count, why) in score.accused.items()]
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    """Print the tables for the docs."""
    spark = shared_session()
    if arguments[0] == "social":
        print(site_table({int(seed): site_scores(spark, plan_of(int(seed))) for seed in arguments[1:]}))
    else:
        print(log_tables(log_score(spark, Path(arguments[1]))))


if __name__ == "__main__":
    main(sys.argv[1:])
