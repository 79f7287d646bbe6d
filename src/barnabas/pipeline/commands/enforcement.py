"""Options of `barnabas pipeline run security --enforce`, and the followers that they add to runs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas.clients.security import client_security
from barnabas.core.errors import ConfigError
from barnabas.pipeline.commands.options import pairs, parse_duration
from barnabas.pipeline.enforcement.audit import AUDIT_TOPIC
from barnabas.pipeline.enforcement.policy import (
    ACCUSATIONS,
    ENFORCED,
    Policy,
    PolicyError,
    parse_limits,
    parse_template,
)
from barnabas.pipeline.job import TableOutput
from barnabas.pipeline.runner.cluster import KafkaOptions
from barnabas.pipeline.runner.plan import PlanError, RunPlan

if TYPE_CHECKING:
    from barnabas.pipeline.enforcement.entry import Entry
    from barnabas.pipeline.runner.follower import Follower

_DEFAULTS = Policy()


def add_enforcement_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of enforcement."""
    group = parser.add_argument_group("enforcement (security; docs/pipeline/enforcement.md)")
    group.add_argument("--enforce", action="store_true", help="turn verdicts into limits that expire")
    group.add_argument(
        "--dry-run",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="only report what would be limited, and write it to the audit topic (the default)",
    )
    group.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="quota for accused subjects, by Kafka's name "
        f"({', '.join(f'{name}={value:g}' for name, value in _DEFAULTS.limits.items())})",
    )
    group.add_argument(
        "--limit-for",
        default="1h",
        metavar="DURATION",
        help="duration of a limit: 90s, 15m, 1h, 7d; default: %(default)s",
    )
    group.add_argument(
        "--enforce-what",
        default=",".join(ENFORCED),
        metavar="WHAT,...",
        help="verdicts to enforce (%(default)s; also possible: declared_bot)",
    )
    group.add_argument(
        "--least-score",
        type=float,
        default=_DEFAULTS.least_score,
        metavar="N",
        help="ignore verdicts below this score (0 to 1); default: %(default)s",
    )
    group.add_argument(
        "--subject",
        action="append",
        default=[],
        metavar="KIND=ENTITY",
        help="Kafka entity of a kind of subjects: user, client-id, or one of them with :TEMPLATE, such as "
        "address=client-id:web-{address} (user=user)",
    )
    group.add_argument(
        "--never",
        default="",
        metavar="NAME,...",
        help="users and client ids that are never limited, in addition to the run's own",
    )
    group.add_argument(
        "--most-limited",
        type=int,
        default=_DEFAULTS.most,
        metavar="N",
        help="maximum number of limited users and client ids (%(default)s); the highest scores first",
    )
    add_audit_option(group)


def add_audit_option(parser: argparse._ActionsContainer) -> None:
    """Add the name of the audit topic."""
    parser.add_argument(
        "--audit-topic",
        default=AUDIT_TOPIC,
        metavar="TOPIC",
        help="topic with all steps of enforcement; default: %(default)s",
    )


def enforcement_followers(
    arguments: argparse.Namespace,
    plans: Sequence[RunPlan],
    say: Callable[[str], None],
    warn: Callable[[str], None],
) -> dict[str, Follower]:
    """Return followers that enforce the verdicts of runs, by the run's name; none without `--enforce`.

    Args:
        arguments: Of the command.
        plans: The runs.
        say: Called with a line for each step.
        warn: Called with each warning, one line.

    Raises:
        PlanError: an option is invalid.
    """
    if not arguments.enforce:
        if arguments.dry_run is not None:
            raise PlanError("--dry-run and --no-dry-run need --enforce")
        return {}
    judging = [plan for plan in plans if _has_verdicts(plan)]
    if not judging:
        raise PlanError("--enforce needs a job that gives verdicts: run security --enforce")
    from barnabas.pipeline.enforcement.follower import EnforcementFollower

    followers: dict[str, Follower] = {}
    for plan in judging:
        policy = _policy(arguments, plan.kafka)
        followers[plan.run] = EnforcementFollower(
            plan.kafka, policy, plan.run, arguments.audit_topic, lambda entry: say(line_of(entry)), warn
        )
    if _is_dry(arguments):
        warn("dry run: no limits are set; check the reported limits, then use --no-dry-run")
    return followers


def line_of(entry: Entry) -> str:
    """Return a line that describes a step."""
    said = entry.to_json()
    limits = ", ".join(f"{name}={value:g}" for name, value in sorted(entry.limits.items()))
    what = f" to {limits} until {said['until']}" if limits else ""
    note = f" ({entry.note})" if entry.note else ""
    verdict = entry.verdict
    return f"{said['step']} {entry.entity}{what}{note}: {verdict.what} {verdict.subject}: {verdict.why}"


def _has_verdicts(plan: RunPlan) -> bool:
    from barnabas.pipeline.enforcement.follower import VERDICTS

    return any(isinstance(output, TableOutput) and output.name == VERDICTS for output in plan.job.outputs)


def _policy(arguments: argparse.Namespace, kafka: KafkaOptions) -> Policy:
    try:
        limits = parse_limits(pairs(arguments.limit, "--limit")) or dict(_DEFAULTS.limits)
        subjects = pairs(arguments.subject, "--subject")
        entities = {kind: parse_template(kind, text) for kind, text in subjects.items()} or _DEFAULTS.entities
    except PolicyError as error:
        raise PlanError(str(error)) from None
    enforced = _names(arguments.enforce_what)
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
        _DEFAULTS.never | frozenset(_names(arguments.never)) | _own_names(kafka.options),
        arguments.most_limited,
        _is_dry(arguments),
    )


def _is_dry(arguments: argparse.Namespace) -> bool:
    return arguments.dry_run is not False


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _own_names(options: Mapping[str, str]) -> frozenset[str]:
    """Return the run's own client id and user: a run that limits itself can't lift limits in time."""
    try:
        security = client_security(options)
    except ConfigError as error:
        raise PlanError(str(error)) from None
    login = security.login if security is not None else None
    names = (options.get("client.id", ""), login.options.get("username", "") if login else "")
    return frozenset(name for name in names if name)
