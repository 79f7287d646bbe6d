"""Set or remove a quota of a user, a client id or both."""

from typing import Final

from barnabas.clients.admin_quota_states import Limited, QuotaStateAdmin
from barnabas.core.advised_commands import Word, command
from barnabas.core.errors import BarnabasError
from barnabas.page.changes.change import Change, Field, Plan, Row, choice, needed, text
from barnabas.page.view import Asked
from barnabas.wire.quotas.limits import KINDS_BY_KEY

_WHOSE: Final = ("any", "this one", "default")
_USERS: Final = Field("users", "Users", choices=_WHOSE)
_USER: Final = Field("user", "User", "For this one.", is_optional=True)
_CLIENTS: Final = Field("clients", "Client ids", choices=_WHOSE)
_CLIENT_ID: Final = Field("client-id", "Client id", "For this one.", is_optional=True)
_LIMIT: Final = Field("limit", "Quota", choices=tuple(KINDS_BY_KEY))
_VALUE: Final = Field("value", "Value", "Per broker. Empty: remove the quota.", is_optional=True)


async def preview(asked: Asked) -> Plan:
    """Read the current quota."""
    user, user_options = _name(asked, _USERS, _USER, "user")
    client_id, client_options = _name(asked, _CLIENTS, _CLIENT_ID, "client")
    if user is None and client_id is None:
        raise BarnabasError("choose users, client ids, or both")
    limited, key = Limited(user, client_id), choice(asked, _LIMIT)
    kind, given = KINDS_BY_KEY[key], text(asked, _VALUE.name)
    try:
        value = kind.parse(given) if given else None
    except ValueError as error:
        raise BarnabasError(f"{_VALUE.label}: {error}") from None
    admin = asked.cluster.admin(QuotaStateAdmin)
    before = (await admin.limits()).get(limited, {}).get(key)
    if value is None and before is None:
        raise BarnabasError("the quota does not exist")

    async def carry_out() -> str:
        await admin.alter_limits(limited, {key: value})
        return f"{key} was {'removed' if value is None else 'set'}."

    options: list[Word] = [*user_options, *client_options]
    if value is None:
        options = ["quotas", "delete", *options, ("--name", key)]
    else:
        options = ["quotas", "set", *options, ("--set", f"{key}={kind.text(value)}")]
    texts = ["" if each is None else kind.text(each) for each in (before, value)]
    return Plan((Row(f"{key} of {_called(limited)}", *texts),), command(*options), carry_out)


def _name(asked: Asked, whose: Field, name: Field, option: str) -> tuple[str | None, list[Word]]:
    """Return a name in the protocol's form (None: any, "": the default), and its command options."""
    match _WHOSE.index(choice(asked, whose)):
        case 0:
            return None, []
        case 1:
            value = needed(asked, name)
            return value, [(f"--{name.name}", value)]
    return "", [f"--{option}-default"]


def _called(limited: Limited) -> str:
    kinds = (("user", limited.user), ("client id", limited.client_id))
    return ", ".join(f"{kind} {name}" if name else f"default {kind}" for kind, name in kinds if name is not None)


CHANGE = Change(
    "/change/quota", "Set or remove a quota", (_USERS, _USER, _CLIENTS, _CLIENT_ID, _LIMIT, _VALUE), preview
)
