"""`barnabas log`: inspects log files, read-only."""

from typing import Final

from barnabas.cli import log_dump, log_stats, log_verify
from barnabas.cli.options import paragraphs

HELP = paragraphs(
    """Inspect log files, read-only.

`dump` prints them as Kafka's kafka-dump-log does, `verify` checks them and predicts the recovery at the next start,
`stats` sums them up by topic. They work on directories of Kafka 0.10 to 2.7 and of Barnabas.
"""
)

SUBCOMMANDS: Final = {
    "dump": (log_dump.dump, log_dump.HELP),
    "verify": (log_verify.verify, log_verify.HELP),
    "stats": (log_stats.stats, log_stats.HELP),
}
