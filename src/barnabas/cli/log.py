"""`barnabas log`: looks into the files of logs, and changes nothing.

`dump` prints them as Kafka's kafka-dump-log does, `verify` checks them and says what the next start would do, `stats`
adds them up by topic. They work on directories of Kafka 0.10 to 2.7 and of Barnabas.
"""

import typer

from barnabas.cli import log_dump, log_stats, log_verify
from barnabas.cli.typer_options import for_typer

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
_CONTEXT = {"help_option_names": ["-h", "--help"]}
app.command("dump", help=log_dump.HELP, context_settings=_CONTEXT)(for_typer(log_dump.dump))
app.command("verify", help=log_verify.HELP, context_settings=_CONTEXT)(for_typer(log_verify.verify))
app.command("stats", help=log_stats.HELP, context_settings=_CONTEXT)(for_typer(log_stats.stats))
