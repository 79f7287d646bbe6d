"""A made-up access log for the demo: a small web site over two hours of one evening.

Invariants: the same seed and line count give the same lines on every machine (only `Random.random` is used, whose
numbers Python guarantees); lines are up to 59 s out of order, as in the logs of real servers.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from random import Random

from barnabas.pipeline.sources.access_log import MONTHS

SEED = 1922
LINE_COUNT = 8_000
_START_S = int(datetime(2026, 3, 6, 19, 0, tzinfo=UTC).timestamp())
_DURATION_S = 2 * 3600
_DISORDER_S = 59

# Page and how often it is seen beside the others.
_PAGES = (
    ("/", 30),
    ("/news", 16),
    ("/programme", 14),
    ("/tickets", 12),
    ("/tickets/basket", 6),
    ("/tickets/paid", 3),
    ("/search?q=castle", 5),
    ("/search?q=trial", 4),
    ("/people/director", 3),
    ("/plays/the-castle", 11),
    ("/plays/the-trial", 8),
    ("/plays/amerika", 5),
    ("/plays/metamorphosis", 7),
    ("/style.css", 9),
    ("/logo.svg", 8),
    ("/favicon.ico", 6),
    ("/robots.txt", 2),
    ("/archive/1922", 1),
)
_AGENTS = (
    ("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", 5),
    ("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36", 8),
    ("Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Version/17.5 Safari/604.1", 6),
    ("ExampleBot/2.1 (+https://bot.example/about)", 2),
)
_STATUSES = (("200", 90), ("304", 6), ("404", 3), ("500", 1))


class _Weighted:
    """Picks one of several texts by weight, from one random number."""

    def __init__(self, choices: tuple[tuple[str, int], ...]) -> None:
        self._texts = [text for text, _ in choices]
        self._ends = list(accumulate(weight for _, weight in choices))

    def pick(self, random: Random) -> str:
        mark = random.random() * self._ends[-1]
        return next(text for text, end in zip(self._texts, self._ends, strict=True) if mark < end)


def sample_lines(line_count: int = LINE_COUNT, seed: int = SEED) -> Iterator[str]:
    """Give the lines of the log, without line ends."""
    random = Random(seed)
    pages, agents, statuses = _Weighted(_PAGES), _Weighted(_AGENTS), _Weighted(_STATUSES)
    for index in range(line_count):
        time_s = _START_S + index * _DURATION_S // line_count - int(random.random() * (_DISORDER_S + 1))
        # Square the number: a few visitors come often, most come seldom.
        visitor = int(random.random() ** 2 * 400)
        status = statuses.pick(random)
        size = "-" if status == "304" else str(200 + int(random.random() * 40_000))
        referrer = "-" if random.random() < 0.6 else "https://theatre.example/"
        yield (
            f"192.0.2.{visitor % 250} - - [{_clf_time(time_s)}] "
            f'"GET {pages.pick(random)} HTTP/1.1" {status} {size} "{referrer}" "{agents.pick(random)}"'
        )


def write_sample(path: Path, line_count: int = LINE_COUNT) -> None:
    """Write the log to a file; the file appears whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text("".join(line + "\n" for line in sample_lines(line_count)))
    partial.replace(path)


def _clf_time(time_s: int) -> str:
    time = datetime.fromtimestamp(time_s, UTC)
    return f"{time:%d}/{MONTHS[time.month - 1]}/{time:%Y:%H:%M:%S} +0000"
