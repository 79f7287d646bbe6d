"""Options of `barnabas pipeline run security --enforce`, and the followers that enforce verdicts of runs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas.clients.security import client_security
from barnabas.pipeline.commands.options import Options, names, pairs, parse_duration
from barnabas.pipeline.enforcement.audit import AUDIT_TOPIC
from barnabas.pipeline.enforcement.policy import (
    ACCUSATIONS,
    ENFORCED,
    Policy,
    parse_limits,
    parse_template,
)
from barnabas.pipeline.job import TableOutput
from barnabas.pipeline.runner.cluster import KafkaOptions
from barnabas.pipeline.runner.plan import PlanError, RunPlan

if TYPE_CHECKING:
    from barnabas.pipeline.enforcement.entry import Entry
    from barnabas.pipeline.runner.refresh import Follower

_DEFAULTS = Policy()


def add_enforcement_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of enforcement."""
    options = Options(parser, "enforcement (security; docs/pipeline/enforcement.md)")
    options.flag("--enforce", "turn verdicts into limits that expire")
    options.add(
        "--dry-run",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="only report what would be limited, and write it to the audit topic (the default)",
    )
    options.values(
        "--limit",
        "NAME=VALUE",
        "quota for accused subjects, by Kafka's name "
        f"({', '.join(f'{name}={value:g}' for name, value in _DEFAULTS.limits.items())})",
    )
    options.value("--limit-for", "DURATION", "duration of a limit: 90s, 15m, 1h, 7d", "1h")
    options.value(
        "--enforce-what",
        "WHAT,...",
        "verdicts to enforce (%(default)s; also possible: declared_bot)",
        ",".join(ENFORCED),
    )
    options.value("--least-score", "N", "ignore verdicts below this score (0 to 1)", _DEFAULTS.least_score)
    options.values(
        "--subject",
        "KIND=ENTITY",
        "Kafka entity of a kind of subjects: user, client-id, or one of them with :TEMPLATE, such as "
        "address=client-id:web-{address} (user=user)",
    )
    options.value(
        "--never", "NAME,...", "users and client ids that are never limited, in addition to the run's own", ""
    )
    options.value(
        "--most-limited",
        "N",
        "maximum number of limited users and client ids (%(default)s); the highest scores first",
        _DEFAULTS.most,
    )
    add_audit_option(options)


def add_audit_option(options: Options) -> None:
    """Add the option for the audit topic."""
    options.value("--audit-topic", "TOPIC", "topic with all steps of enforcement", AUDIT_TOPIC)


def enforcement_followers(
    arguments: argparse.Namespace,
    plans: Sequence[RunPlan],
    say: Callable[[str], None],
    warn: Callable[[str], None],
) -> dict[str, Follower]:
    """Return the followers that enforce the verdicts of runs, by the run's name; empty without `--enforce`.

    Args:
        arguments: The command's options.
        plans: The runs.
        say: Called with one line for each step.
        warn: Called with a one-line warning for the operator.

    Raises:
        PlanError: an option is invalid, or no run has verdicts.
    """
    if not arguments.enforce:
        if arguments.dry_run is not None:
            raise PlanError("--dry-run and --no-dry-run need --enforce")
        return {}
    from barnabas.pipeline.enforcement.follower import VERDICTS, EnforcementFollower

    followers: dict[str, Follower] = {
        plan.run: EnforcementFollower(
            plan.kafka,
            _policy(arguments, plan.kafka),
            plan.run,
            arguments.audit_topic,
            lambda entry: say(line_of(entry)),
            warn,
        )
        for plan in plans
        if any(isinstance(output, TableOutput) and output.name == VERDICTS for output in plan.job.outputs)
    }
    if not followers:
        raise PlanError("--enforce needs a job that gives verdicts: run security --enforce")
    if arguments.dry_run is not False:
        warn("dry run: no limits are set; check the reported limits, then use --no-dry-run")
    return followers


def line_of(entry: Entry) -> str:
    """Return a one-line description of a step."""
    said = entry.to_json()
    limits = ", ".join(f"{name}={value:.15g}" for name, value in sorted(entry.limits.items()))
    what = f" to {limits} until {said['until']}" if limits else ""
    note = f" ({entry.note})" if entry.note else ""
    verdict = entry.verdict
    return f"{said['step']} {entry.entity}{what}{note}: {verdict.what} {verdict.subject}: {verdict.why}"


def _policy(arguments: argparse.Namespace, kafka: KafkaOptions) -> Policy:
    limits = parse_limits(pairs(arguments.limit, "--limit")) or dict(_DEFAULTS.limits)
    subjects = pairs(arguments.subject, "--subject")
    entities = {kind: parse_template(kind, text) for kind, text in subjects.items()} or _DEFAULTS.entities
    enforced = names(arguments.enforce_what)
    for what in enforced:
        if what not in ACCUSATIONS:
            raise PlanError(f"verdict {what!r} does not exist: use {', '.join(ACCUSATIONS)}")
    if not 0 <= arguments.least_score <= 1:
        raise PlanError(f"--least-score {arguments.least_score} is invalid: must be from 0 to 1")
    if arguments.most_limited < 1:
        raise PlanError(f"--most-limited {arguments.most_limited} is invalid: must be at least 1")
    return Policy(
        limits,
        parse_duration(arguments.limit_for),
        enforced,
        arguments.least_score,
        entities,
        _DEFAULTS.never | frozenset(names(arguments.never)) | _own_names(kafka.options),
        arguments.most_limited,
        arguments.dry_run is not False,
    )


def _own_names(options: Mapping[str, str]) -> frozenset[str]:
    """Return the run's own client id and user, which are never limited: a throttled run can't lift limits in time."""
    security = client_security(options)
    login = security.login if security is not None else None
    names = (options.get("client.id", ""), login.options.get("username", "") if login else "")
    return frozenset(name for name in names if name)
