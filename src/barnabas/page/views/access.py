"""Users and access rules, and whether a user may do an operation, with the deciding rule.

The effect of rules is decided by the same code as in brokers (explain/rules/refused.py).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from barnabas.clients.admin_users import UserAdmin
from barnabas.core.errors import KafkaError
from barnabas.explain.collector import Part
from barnabas.explain.finding import Finding
from barnabas.explain.questions import Question
from barnabas.explain.rules.refused import Question as Wanted
from barnabas.explain.rules.refused import explain_refused, may
from barnabas.explain.snapshot import Snapshot
from barnabas.page.view import Asked, RowRange, View, ViewKind, known, select_rows
from barnabas.wire.security.acls import ANY_NAME, OPERATIONS
from barnabas.wire.security.authorizer import CLUSTER, OPERATIONS_OF, ResourceType
from barnabas.wire.security.principals import USER, Principal

_QUESTION: Final = Question(frozenset({Part.RULES}), (), explain_refused)
_RESOURCE_TYPES: Final = ("topic", "group", "transactional id", "cluster")
_OPERATIONS: Final = tuple(
    name for name, code in OPERATIONS.items() if any(possible >> code & 1 for possible in OPERATIONS_OF.values())
)


class UserRow(NamedTuple):
    """A user with SCRAM credentials, and the number of rules for that user; None if rules are not visible."""

    name: str
    mechanisms: Mapping[str, int]
    rule_count: int | None


class Form(NamedTuple):
    """The question whether a user may do an operation, as typed."""

    user: str
    operation: str
    resource_type: str
    name: str
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Access(View):
    """Users, access rules, and the answer to the question.

    Attributes:
        problem: The reason why the question cannot be answered; empty if it can, or if no question was asked.
        answer: Whether the user may do the operation; None if no question was asked.
        rules: In the format of `barnabas acls --list`.
    """

    asked: Form
    problem: str
    answer: Finding | None
    users: RowRange[UserRow]
    rules: RowRange[Mapping[str, str]]
    # The choices of the form.
    operations: ClassVar = _OPERATIONS
    resource_types: ClassVar = _RESOURCE_TYPES


async def build(asked: Asked) -> Access:
    """Read rules and users. Raises KafkaError."""
    snapshot = await asked.cluster.collect(_QUESTION)
    described: dict[str, dict[str, int]] = {}
    try:
        described = await asked.cluster.admin(UserAdmin).describe()
    except KafkaError as error:
        snapshot.refused.append(f"users: {error.message}")
    form = form_of(asked.query)
    problem, answer = answer_to(snapshot, form)
    rules = select_rows(snapshot.rules or [], asked, lambda rule: " ".join(rule.as_row().values()))
    by_name = asked._replace(query={"find": asked.query.get("find", "")})
    return Access(
        **known(snapshot)._asdict(),
        asked=form,
        problem=problem,
        answer=answer,
        users=select_rows(user_rows(snapshot, described), by_name, lambda row: row.name),
        rules=RowRange(tuple(each.as_row() for each in rules.rows), rules.begin, rules.count, rules.find),
    )


def user_rows(snapshot: Snapshot, described: Mapping[str, Mapping[str, int]]) -> list[UserRow]:
    """Return the users by name."""
    counts = Counter(str(each.entry.principal) for each in snapshot.rules or ())
    return [
        UserRow(name, mechanisms, None if snapshot.rules is None else counts[f"{USER}:{name}"])
        for name, mechanisms in sorted(described.items())
    ]


def form_of(query: Mapping[str, str]) -> Form:
    """Return the question in a query."""
    return Form(*(query.get(field, "").strip() for field in ("user", "operation", "type", "resource", "host")))


def answer_to(snapshot: Snapshot, form: Form) -> tuple[str, Finding | None]:
    """Return the problem or the answer of a question; neither if the user is empty."""
    if not form.user:
        return "", None
    if form.operation not in OPERATIONS:
        return f"The operation {form.operation or '(empty)'} does not exist.", None
    if form.resource_type not in _RESOURCE_TYPES:
        return f"The resource type {form.resource_type or '(empty)'} does not exist.", None
    resource_type = ResourceType[form.resource_type.upper().replace(" ", "_")]
    if not OPERATIONS_OF[resource_type] >> OPERATIONS[form.operation] & 1:
        there_are = ", ".join(each for each, code in OPERATIONS.items() if OPERATIONS_OF[resource_type] >> code & 1)
        return f"{form.operation} does not apply to a {form.resource_type}; use {there_are}.", None
    if not form.name and resource_type is not ResourceType.CLUSTER:
        return f"Name the {form.resource_type}.", None
    name = CLUSTER if resource_type is ResourceType.CLUSTER else form.name
    who = Principal(USER, form.user.removeprefix(f"{USER}:"))
    return "", may(snapshot, Wanted(who, form.host or ANY_NAME, OPERATIONS[form.operation], resource_type, name))


VIEW = ViewKind("/access", "Access", "access.html.jinja", build, 10, "/access")
