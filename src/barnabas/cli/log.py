"""`barnabas log`: looks into the files of logs, and changes nothing."""

from typing import Final

from barnabas.cli import log_dump, log_stats, log_verify
from barnabas.cli.options import paragraphs

HELP = paragraphs(
    """Look into the files of logs, and change nothing.

`dump` prints them as Kafka's kafka-dump-log does, `verify` checks them and says what the next start would do, `stats`
adds them up by topic. They work on directories of Kafka 0.10 to 2.7 and of Barnabas.
"""
)

SUBCOMMANDS: Final = {
    "dump": (log_dump.dump, log_dump.HELP),
    "verify": (log_verify.verify, log_verify.HELP),
    "stats": (log_stats.stats, log_stats.HELP),
}
