"""`barnabas explain`: causes of lag, offline partitions, full disks and other problems, and the next step."""

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Annotated, Final

from barnabas.cli.connection import client_settings, connect
from barnabas.cli.options import (
    DEFAULT_SERVER,
    AsJson,
    BootstrapServer,
    CommandConfig,
    Option,
    flag,
    paragraphs,
    run_async,
    stop_on_signals,
)
from barnabas.cli.output import clear_screen, note, print_json, say
from barnabas.cli.quota_options import ClientId, User
from barnabas.clients.admin_calls import AdminCalls
from barnabas.core.advised_commands import Word, options, with_options
from barnabas.core.command_line import ENVIRONMENT
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.core.stopping import unless_stopped
from barnabas.explain.collector import Collector
from barnabas.explain.finding import Certainty, Finding, Severity
from barnabas.explain.questions import EVERYTHING, QUESTIONS, Question
from barnabas.explain.snapshot import Scope, Snapshot
from barnabas.wire.security.acls import OPERATIONS

HELP = paragraphs(
    """Explain problems: their state, duration, causes, and the command to run next.

Without a question it lists problems, the most severe first. QUESTION is client, group, lag, refused, slow, topic, disk,
transaction or broker. NAME restricts the answer: to a client id for client and slow, a group for group and lag, a user
for refused, a topic for topic and disk, a transactional id for transaction, a broker id for broker. Kafka brokers keep
no diagnostic events: there the answer shows only the present state, and reports unknown causes as unknown. Nothing is
changed.

Examples:

  barnabas explain

  barnabas explain lag billing

  barnabas explain refused alice --operation Write --topic views
"""
)

# Time limit of each broker; brokers that do not answer are reported.
_PATIENCE_MS: Final = 5_000
_WATCHED_EVERY_S: Final = 5
_LONGEST_MINUTES: Final = 7 * 24 * 60


def explain(
    question: Annotated[
        str | None, Option(metavar="QUESTION", help=f"One of {', '.join(QUESTIONS)}; without it, all problems.")
    ] = None,
    name: Annotated[
        str | None, Option(metavar="NAME", help="Subject of the question; without it, all subjects.")
    ] = None,
    since: Annotated[
        int,
        Option("--since", min=1, max=_LONGEST_MINUTES, metavar="MINUTES", help="How far back to look for events."),
    ] = 60,
    watch: Annotated[bool, flag("--watch", "Repeat the answer every 5 s, until Ctrl-C.")] = False,
    user: User = None,
    client_id: ClientId = None,
    host: Annotated[
        str | None, Option("--host", metavar="ADDRESS", help="With refused: address of the client (default: any).")
    ] = None,
    operation: Annotated[
        str | None,
        Option("--operation", metavar="NAME", help="With refused: check whether the user may perform this operation."),
    ] = None,
    topic: Annotated[str | None, Option("--topic", metavar="NAME", help="With --operation: topic to check.")] = None,
    group: Annotated[str | None, Option("--group", metavar="NAME", help="With --operation: group to check.")] = None,
    transactional_id: Annotated[
        str | None, Option("--transactional-id", metavar="ID", help="With --operation: transactional id to check.")
    ] = None,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: Annotated[
        int | None,
        Option(
            "--timeout",
            min=1,
            max=2**31 - 1,
            metavar="MS",
            help="Timeout of each request to a broker (default: 5000).",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    asking = _question(question)
    if question == "client" and client_id is None:
        client_id = name
    scope = Scope(name, user, client_id, host, _operation(operation), topic, group, transactional_id)
    if operation is not None and (question != "refused" or (user or name) is None):
        raise BarnabasError("--operation needs a user: barnabas explain refused alice --operation Write --topic views")
    settings = client_settings("barnabas-explain", command_config, timeout or _PATIENCE_MS)
    is_default = bootstrap_server == DEFAULT_SERVER and not os.environ.get(ENVIRONMENT["--bootstrap-server"])
    connection: list[Word] = [] if is_default else [("--bootstrap-server", bootstrap_server)]
    connection += [] if command_config is None else [("--command-config", command_config)]

    async def work() -> None:
        stopped = stop_on_signals() if watch else asyncio.Event()
        async with connect(bootstrap_server, settings, AdminCalls) as admin:
            collector = Collector(admin.pool, settings.timeout_ms, scope, since * 60_000)
            has_answered = False
            while not stopped.is_set():
                try:
                    snapshot = await unless_stopped(collector.collect(asking.parts, asking.facts), stopped)
                except KafkaError as error:
                    # The brokers may restart while they are watched.
                    if not has_answered:
                        raise
                    note(error.message)
                else:
                    if snapshot is None:
                        return
                    found = asking.rule(snapshot)
                    if as_json:
                        print_json(_as_dict(snapshot, found, question, name))
                    else:
                        _show(snapshot, found, options(*connection), asks_for_facts=bool(asking.facts), is_live=watch)
                    if not watch:
                        return
                    has_answered = True
                try:
                    await asyncio.wait_for(stopped.wait(), _WATCHED_EVERY_S)
                except TimeoutError:
                    continue

    run_async(work())


def _question(text: str | None) -> Question:
    if text is None:
        return EVERYTHING
    if text not in QUESTIONS:
        near = get_close_matches(text, QUESTIONS, 1)
        more = f"; did you mean {near[0]}?" if near else f"; must be one of {', '.join(QUESTIONS)}"
        raise BarnabasError(f"question {text} does not exist{more}")
    return QUESTIONS[text]


def _operation(text: str | None) -> str | None:
    if text is None:
        return None
    by_name = {name.lower(): name for name in OPERATIONS if name != "All"}
    name = by_name.get(text.replace("_", "").lower())
    if name is None:
        raise BarnabasError(f"--operation {text}: must be one of {', '.join(by_name.values())}")
    return name


def _as_dict(snapshot: Snapshot, found: Sequence[Finding], question: str | None, name: str | None) -> dict[str, object]:
    return {
        "question": question,
        "name": name,
        "now_ms": snapshot.now_ms,
        "since_ms": snapshot.since_ms,
        "findings": [each.as_dict() for each in found],
        "silent_brokers": {str(broker_id): why for broker_id, why in sorted(snapshot.silent.items())},
        "brokers_with_facts": sorted(snapshot.reporters),
        "not_told": snapshot.refused,
    }


def _show(
    snapshot: Snapshot, found: Sequence[Finding], connection: str, *, asks_for_facts: bool, is_live: bool
) -> None:
    """Print findings as text."""
    if is_live and sys.stdout.isatty():
        clear_screen()
    for index, each in enumerate(found):
        if index:
            say()
        _show_finding(each, connection, snapshot.now_ms, "")
    if is_live:
        say()
    for text in dict.fromkeys(snapshot.refused):
        note(f"Not checked: {text}")
    for broker_id, why in sorted(snapshot.silent.items()):
        note(f"Broker {broker_id} did not answer: {why}")
    brokers = {} if snapshot.cluster is None else snapshot.cluster.brokers
    without = {each for each, broker in brokers.items() if not broker.failure}
    without -= snapshot.reporters | snapshot.deniers | snapshot.silent.keys()
    if without and asks_for_facts:
        note(
            f"Brokers {', '.join(map(str, sorted(without)))} keep no diagnostic events: only the present state is "
            "shown."
        )


def _show_finding(finding: Finding, connection: str, now_ms: int, indent: str) -> None:
    known = [] if finding.severity is Severity.FINE else [finding.severity.name.lower()]
    known += [] if finding.certainty is Certainty.MEASURED else [finding.certainty.value]
    known += [] if finding.since_ms is None else [f"since {_time_text(finding.since_ms, now_ms)}"]
    told = f" [{', '.join(known)}]" if known else ""
    say(f"{indent}{finding.text}{told}")
    for each in finding.causes:
        _show_finding(each, connection, now_ms, f"{indent}  ")
    for line in finding.commands:
        say(f"{indent}  $ {with_options(line, connection)}")


def _time_text(timestamp_ms: int, now_ms: int) -> str:
    """Return a time of day, with its date unless that is today."""
    form = "%H:%M:%S UTC" if abs(now_ms - timestamp_ms) < 43_200_000 else "%Y-%m-%d %H:%M:%S UTC"
    try:
        return time.strftime(form, time.gmtime(timestamp_ms / 1_000))
    except (OverflowError, ValueError, OSError):
        # A timestamp may be any number.
        return str(timestamp_ms)
