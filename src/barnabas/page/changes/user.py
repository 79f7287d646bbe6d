"""Set a user's SCRAM password, or delete the user's credentials."""

import asyncio
from typing import Final

from barnabas.clients.admin_users import NewCredential, UserAdmin
from barnabas.core.advised_commands import command
from barnabas.core.dice import system_dice
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.page.changes.change import Change, Field, Plan, Row, choice, needed
from barnabas.page.view import Asked
from barnabas.wire.security.sasl.credential import LEAST_ITERATIONS, new_user_salt
from barnabas.wire.security.sasl.scram import SCRAM_MECHANISMS

_USER: Final = Field("user", "User")
_HOW: Final = Field("how", "What to do", choices=("set a password", "delete the credentials"))
_MECHANISM: Final = Field("mechanism", "Mechanism", choices=tuple(reversed(SCRAM_MECHANISMS)))
_PASSWORD: Final = Field("password", "Password", "Neither sent to a broker nor kept.", is_optional=True, is_secret=True)


async def preview(asked: Asked) -> Plan:
    """Read the user's credentials; the plan keeps only the verifier of a new password."""
    user, gives, admin = needed(asked, _USER), choice(asked, _HOW) == _HOW.choices[0], asked.cluster.admin(UserAdmin)
    mechanism = SCRAM_MECHANISMS[choice(asked, _MECHANISM)]
    try:
        known = (await admin.describe([user])).get(user, {})
    except KafkaError as error:
        if error.code is not ErrorCode.RESOURCE_NOT_FOUND:
            raise
        known = {}
    before = f"{known[mechanism.name]} iterations" if mechanism.name in known else ""
    what, options = f"{mechanism.name} of user {user}", (("--user", user), ("--mechanism", mechanism.name))
    if not gives:
        if not before:
            raise BarnabasError(f"user {user} has no credentials for {mechanism.name}")

        async def take() -> str:
            await admin.delete(user, [mechanism])
            return f"User {user} can't log in with {mechanism.name} any more."

        note = "Existing connections stay logged in; quotas and access rules of the user are kept."
        return Plan((Row(what, before, "none"),), command("users", "delete", *options), take, (note,))
    # Exactly as typed: blanks may be part of a password.
    password = asked.query.get(_PASSWORD.name, "")
    if not password:
        raise BarnabasError(f"{_PASSWORD.label}: a value is required")
    salt = new_user_salt(system_dice().getrandbits)
    credential = await asyncio.to_thread(NewCredential.make, mechanism, password, LEAST_ITERATIONS, salt)

    async def give() -> str:
        await admin.set(user, [credential])
        return f"User {user} can log in with {mechanism.name}."

    after = f"{LEAST_ITERATIONS} iterations, by a new password"
    return Plan((Row(what, before, after),), command("users", "add", *options, ("--password-file", "-")), give)


CHANGE: Final = Change("/change/user", "Change a user", (_USER, _HOW, _MECHANISM, _PASSWORD), preview)
