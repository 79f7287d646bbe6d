"""`scripts/soak --explain`: makes one cause in a small cluster, asks `barnabas explain`, and judges the answer.

Each history has one cause, and the rest is drawn: how many, how fast, how long. What must hold:

    named       the cause stands first: it is the first finding, or the first cause of that, and so on down
    no other    no other cause is told as *measured*, but for what the cause itself brings along
    gone        30 s after the cause is gone nothing is told of it; of what happened, 30 s after the time is over that
                was asked about
    listed      what is a problem stands in the answer to no question, too, and what is gone does not
    commands    whatever is advised is a command of ours that parses
"""

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import aclosing
from typing import Final

from barnabas.explain.finding import Certainty, Finding, Severity
from barnabas.explain.snapshot import Scope
from tests.simulation import explain_brokers, explain_clients, explain_groups, explain_logins  # noqa: F401  # they fill the list
from tests.simulation.explain_causes import CAUSES, Cause, label
from tests.simulation.explain_world import World
from tests.simulation.histories import Outcome
from tests.unit.explain.worlds import all_of, verdicts

_NAMED_PART: Final = 0.97
_MOST_S: Final = 1_200
_GONE_S: Final = 30
# In so many histories others live beside.
_BESIDE: Final = 0.3


class ExplainHistory:
    """One history; `play` plays it.

    Attributes:
        cause: What is made.
        is_named: Whether the answer named it first.
        advised: Commands that answers advised.
    """

    def __init__(self, seed: int, name: str | None = None) -> None:
        names = sorted(CAUSES)
        self.cause: Cause = CAUSES[name or names[seed % len(names)]]
        self.is_named = False
        self.advised: set[str] = set()
        self._world = World(seed, self.cause.broker_count, self.cause.settings)
        self.outcome = Outcome(seed, lines=self._world.simulation.history)

    def play(self) -> Outcome:
        """Let it happen, and judge it."""
        simulation, told = self._world.simulation, self.outcome.violations
        try:
            simulation.run(asyncio.wait_for(self._story(), _MOST_S))
        except Exception as error:
            told.append(f"the history broke off: {error!r}")
        told += [f"a callback raised: {each}" for each in simulation.loop.errors]
        return self.outcome

    async def _story(self) -> None:
        world, cause = self._world, self.cause
        try:
            await world.start()
            if world.dice.random() < _BESIDE:
                await world.live_beside()
            async with aclosing(cause.stage(world)) as acts:
                asked = await anext(acts)
                found = await self._ask(asked, cause.question)
                self.is_named = any(label(each) == cause.label for each in _firsts(found))
                if not self.is_named:
                    self._say("another cause stands first", found)
                self._judge_others(found)
                is_problem = any(each.severity >= Severity.PROBLEM and self._names([each]) for each in found)
                overview = await self._ask(Scope(), None)
                if is_problem and not self._names(overview):
                    self._say("it is not listed", overview)
                await anext(acts, None)
                await asyncio.sleep(_GONE_S + (60 * cause.minutes if cause.minutes < 60 else 0))
                for found in (await self._ask(asked, cause.question), await self._ask(Scope(), None)):
                    if self._names(found):
                        self._say("it is told though it is gone", found)
        finally:
            await world.close()

    def _names(self, found: Iterable[Finding]) -> bool:
        return any(label(each) == self.cause.label for each in all_of(found))

    async def _ask(self, asked: Scope, question: str | None) -> list[Finding]:
        found, snapshot = await self._world.ask(question, asked, self.cause.minutes)
        self._world.simulation.note(f"asked: {[each.text for each in all_of(found)]}")
        self.outcome.violations += [f"not seen: {text}" for text in snapshot.refused if "No Authorizer" not in text]
        # It checks commands and sentences.
        verdicts(found)
        self.advised |= {line for each in all_of(found) for line in each.commands}
        return found

    def _judge_others(self, found: Iterable[Finding]) -> None:
        of_question = {each.label for each in CAUSES.values() if each.question == self.cause.question}
        labels = of_question - {self.cause.label} - self.cause.beside
        for each in all_of(found):
            if label(each) in labels and each.certainty is Certainty.MEASURED:
                self._say(f"{label(each)} is told as measured", found)

    def _say(self, what: str, found: Iterable[Finding]) -> None:
        snapshot = "".join(f"\n        {label(each)} [{each.certainty}]: {each.text}" for each in all_of(found))
        self.outcome.violations.append(f"{self.cause.name} ({self.cause.label}): {what}{snapshot}")


def _firsts(found: list[Finding]) -> Iterator[Finding]:
    """Give the first finding, its first cause, and so on."""
    while found:
        yield found[0]
        found = list(found[0].causes)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/soak --explain", description=__doc__)
    parser.add_argument("--count", type=int, default=1_000, help="how many histories; default: 1000")
    parser.add_argument("--seed", type=int, default=0, help="the first seed, from which they count up; default: 0")
    parser.add_argument("--cause", choices=sorted(CAUSES), help="this one alone")
    parser.add_argument("--show", action="store_true", help="print the history of each that went wrong")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    failed: list[int] = []
    started_s, cpu_s = time.monotonic(), time.process_time()
    for number, seed in enumerate(range(options.seed, options.seed + options.count), 1):
        history = ExplainHistory(seed, options.cause)
        outcome = history.play()
        counts[history.cause.name] += 1
        counts["named first"] += history.is_named
        if outcome.violations:
            failed.append(seed)
            if options.show:
                print("\n".join(outcome.lines))
            print(f"seed {seed}:", *outcome.violations, sep="\n    ", flush=True)
        if number % 100 == 0:
            print(f"{number} histories, {len(failed)} went wrong; {time.monotonic() - started_s:.0f} s", flush=True)
    named = counts.pop("named first") / options.count
    print(
        f"{options.count} histories of {len(counts)} causes from seed {options.seed}: named first in {named:.1%}, "
        f"{len(failed)} went wrong; {time.monotonic() - started_s:.0f} s, {time.process_time() - cpu_s:.0f} s of CPU"
    )
    if failed:
        cause = f"--cause {options.cause} " if options.cause else ""
        print(f"again: scripts/soak --explain {cause}--count 1 --show --seed", failed[0])
    return 1 if named < _NAMED_PART or failed else 0


if __name__ == "__main__":
    sys.exit(main())
