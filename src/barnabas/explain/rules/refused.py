"""Causes of refusals: denying rules, missing rights, failed logins, reached limits.

Kafka only logs its refusals, but its access rules can be queried, so the question "may U do X" is answered for Kafka,
too. The effect of rules is decided by the same code as in brokers: `wire/security/access_rules.py`.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from barnabas.core.advised_commands import Word, command
from barnabas.explain.finding import Certainty, Figure, Finding, Severity, worst_first
from barnabas.explain.formatting import duration, times
from barnabas.explain.snapshot import Row, Scope, Snapshot
from barnabas.wire.security.access_rules import Rules
from barnabas.wire.security.acls import (
    ANYBODY,
    OPERATIONS,
    Binding,
    Entry,
    PatternFilter,
    PatternType,
    Permission,
    word,
)
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType
from barnabas.wire.security.principals import USER, Principal

_MOST_ROWS: Final = 20
_OPTIONS: Final = {
    ResourceType.TOPIC: "--topic",
    ResourceType.GROUP: "--group",
    ResourceType.TRANSACTIONAL_ID: "--transactional-id",
}
_NOWHERE: Final = "*"


class Question(NamedTuple):
    """A question whether a principal may perform an operation on a resource."""

    principal: Principal
    host: str
    operation: Operation
    resource_type: ResourceType
    name: str

    @property
    def what(self) -> str:
        """Describe the operation: `Write on topic views`."""
        kind = self.resource_type.name.lower().replace("_", " ")
        where = "the cluster" if self.resource_type is ResourceType.CLUSTER else f"{kind} {self.name}"
        return f"{word(self.operation)} on {where}"


def explain_refused(snapshot: Snapshot) -> list[Finding]:
    """Explain recent refusals or, with an operation, whether a user may perform it, with the deciding rule."""
    question = question_of(snapshot.scope)
    if question is not None:
        return [may(snapshot, question)]
    kept = [
        row
        for row in snapshot.facts.get("refusals", ())
        if row["last_ms"] >= snapshot.since_ms and _is_in_scope(snapshot, row)
    ]
    kept.sort(key=lambda row: -int(row["count"]))
    found = [_refusal(snapshot, row) for row in kept[:_MOST_ROWS]]
    if not found:
        window = duration(snapshot.now_ms - snapshot.since_ms)
        if snapshot.reporters:
            found.append(Finding("cluster", "nothing-refused", f"nothing was refused in the last {window}"))
        else:
            text = (
                "refusals are unknown: no broker records them; for a user and --operation (and --topic, --group or "
                "--transactional-id), the access rules give the answer"
            )
            found.append(Finding("cluster", "unknown", text, certainty=Certainty.UNKNOWN))
    return worst_first(found)


def _is_in_scope(snapshot: Snapshot, row: Row) -> bool:
    if snapshot.scope.client_id is not None:
        return bool(row["client_id"] == snapshot.scope.client_id)
    return (snapshot.scope.user or snapshot.scope.name) in (None, row["user"])


def question_of(scope: Scope) -> Question | None:
    """Return the question if the scope has a user and an operation, else None."""
    user = scope.user or scope.name
    if user is None or scope.operation is None:
        return None
    principal = Principal(USER, user.removeprefix(f"{USER}:"))
    for resource_type, name in (
        (ResourceType.TOPIC, scope.topic),
        (ResourceType.GROUP, scope.group),
        (ResourceType.TRANSACTIONAL_ID, scope.transactional_id),
    ):
        if name is not None:
            return Question(principal, scope.host or _NOWHERE, OPERATIONS[scope.operation], resource_type, name)
    return Question(principal, scope.host or _NOWHERE, OPERATIONS[scope.operation], ResourceType.CLUSTER, CLUSTER)


def may(snapshot: Snapshot, question: Question) -> Finding:
    """Return whether a principal may perform the operation, with the rule or the missing right."""
    principal, what = question.principal, question.what
    subject = f"user {principal.name}"
    option = _OPTIONS.get(question.resource_type)
    place: Word = "--cluster" if option is None else (option, question.name)
    if snapshot.rules is None:
        text = f"whether {principal} may {what} is unknown: the access rules are not visible"
        return Finding(subject, "unknown", text, Severity.NOTICE, Certainty.UNKNOWN)
    next_step = command("acls", "--list", place, ("--resource-pattern-type", "match"))
    about = _about(snapshot.rules, question)
    if not about:
        text = (
            f"no rule is about {what.partition(' on ')[2]}: allow.everyone.if.no.acl.found (false by default) and "
            f"super.users of the broker decide whether {principal} may {what}"
        )
        commands = (_allow(question, place), next_step)
        return Finding(subject, "no-rule", text, Severity.NOTICE, Certainty.INFERRED, commands=commands)
    rules = Rules()
    for each in about:
        rules.set(each.pattern, rules.entries(each.pattern) | {each.entry})
    rights = rules.rights(principal, question.host, question.resource_type, question.name) or 0
    deciding = [each for each in about if _decides(each, question)]
    denying = [each for each in deciding if each.entry.permission is Permission.DENY]
    shown = denying or deciding
    figures: dict[str, Figure] = {"rules": [_rule(each) for each in shown], "rule_count": len(about)}
    if rights >> question.operation & 1:
        text = f"{principal} may {what}: {_rule(shown[0])}"
        return Finding(subject, "allowed", text, figures=figures, commands=(next_step,))
    if denying:
        text = f"{principal} may not {what}: a rule denies it, and denials take precedence: {_rule(denying[0])}"
        return Finding(subject, "denied", text, Severity.PROBLEM, figures=figures, commands=(next_step,))
    text = (
        f"{principal} may not {what}: none of {len(about)} rules about it grants that right"
        f"{'' if question.host == _NOWHERE else f' from {question.host}'} (super.users may do everything)"
    )
    commands = (_allow(question, place), next_step)
    return Finding(subject, "right-missing", text, Severity.PROBLEM, figures=figures, commands=commands)


def _allow(question: Question, place: Word) -> str:
    who = (("--allow-principal", question.principal), ("--operation", word(question.operation)))
    return command("acls", "--add", *who, place)


def _about(rules: list[Binding], question: Question) -> list[Binding]:
    wanted = PatternFilter(question.resource_type, question.name, PatternType.MATCH)
    return [each for each in rules if wanted.selects(each.pattern)]


def _decides(binding: Binding, question: Question) -> bool:
    """Return whether a single rule allows the operation, or denies it regardless of other rules."""
    rules = Rules()
    entries = {binding.entry}
    is_denial = binding.entry.permission is Permission.DENY
    if is_denial:
        entries.add(Entry(ANYBODY, "*", Operation.ALL, Permission.ALLOW))
    rules.set(binding.pattern, entries)
    rights = rules.rights(question.principal, question.host, question.resource_type, question.name) or 0
    return bool(rights >> question.operation & 1) is not is_denial


def _rule(binding: Binding) -> str:
    pattern, entry = binding
    kind = "prefixed " if pattern.pattern_type is PatternType.PREFIXED else ""
    return (
        f"{word(entry.permission)} {entry.principal} {word(entry.operation)} from host {entry.host} on {kind}"
        f"{word(pattern.resource_type)} {pattern.name}"
    )


def _refusal(snapshot: Snapshot, row: Row) -> Finding:
    """Return a finding about a recorded refusal, with the responsible rule if rules are visible."""
    who = row["user"] or "an unauthenticated user"
    where = f"{row['client_id']} at {row['host']}" if row["client_id"] else row["host"]
    often = times(int(row["count"]))
    figures: dict[str, Figure] = {
        "kind": row["kind"],
        "count": row["count"],
        "user": row["user"],
        "host": row["host"],
        "client_id": row["client_id"],
        "reason": row["reason"] or None,
    }
    causes: tuple[Finding, ...] = ()
    commands: tuple[str, ...] = ()
    match row["kind"]:
        case "login":
            # Without a mechanism, the client sent another request before it began a login.
            by = row["mechanism"]
            how = f"a login from {where} by {by}" if by else f"a connection from {where} without a login"
            text = f"{how} on listener {row['listener']} failed {often}: {row['reason']}"
            # The command lists only SCRAM users.
            commands = (command("users", "list"),) if str(row["mechanism"]).startswith("SCRAM") else ()
        case "acl":
            text = f"{who} ({where}) was denied {row['operation']} on {row['resource']} {row['name']} {often}"
            text += f" (request {row['reason']})" if row["reason"] else ""
            question = _question(row)
            if question is not None and snapshot.rules is not None:
                causes = (may(snapshot, question),)
        case _:
            text = f"{where} was rejected {often}, by {row['reason']}"
            text += f" of group {row['name']}" if row["name"] else ""
    verdict = f"refused-{row['kind']}"
    subject = f"user {row['user']}" if row["user"] else f"host {row['host']}"
    since_ms = int(row["first_ms"])
    return Finding(
        subject, verdict, text, Severity.NOTICE, since_ms=since_ms, figures=figures, causes=causes, commands=commands
    )


def _question(row: Row) -> Question | None:
    types = {each.name: each for each in ResourceType}
    resource_type = types.get(str(row["resource"]).upper().replace(" ", "_"))
    operation = {each.name: each for each in Operation}.get(str(row["operation"]).upper())
    if resource_type is None or operation is None or row["user"] is None:
        return None
    return Question(Principal(USER, row["user"]), row["host"], operation, resource_type, row["name"])


def lately_refused(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield findings about recent refusals, if there are any."""
    yield from (each for each in explain_refused(snapshot) if each.verdict.startswith("refused-"))
