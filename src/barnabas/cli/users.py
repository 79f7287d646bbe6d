"""`barnabas users`: SCRAM users of a running or a stopped cluster."""

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Final, NamedTuple, TypeVar

from barnabas.cli.connection import client_settings, connect
from barnabas.cli.migration_options import run_quietly
from barnabas.cli.options import (
    DEFAULT_SERVER,
    AsJson,
    BootstrapServer,
    CommandConfig,
    Option,
    TimeoutMs,
    paragraphs,
)
from barnabas.cli.output import Cell, note, print_json, print_table
from barnabas.cli.stored_users import StoredUsers
from barnabas.clients.admin_users import NewCredential, UserAdmin
from barnabas.core.dice import system_dice
from barnabas.core.errors import BarnabasError
from barnabas.wire.security.sasl.credential import LEAST_ITERATIONS, new_user_salt
from barnabas.wire.security.sasl.mechanism import SCRAM_SHA_512
from barnabas.wire.security.sasl.scram import SCRAM_MECHANISMS, ScramMechanism

T = TypeVar("T")

HELP = paragraphs(
    """Show and change SCRAM users.

By default, users of the running cluster at --bootstrap-server. If brokers authenticate to each other with SCRAM, their
users must exist before they start: then use --log-dir with the data directory of a stopped broker with an embedded
registry, or --zookeeper. Users of PLAIN are in the settings of each broker.
"""
)
LIST_HELP = paragraphs(
    """List all users with SCRAM credentials.

Example:

  barnabas users list
"""
)
DESCRIBE_HELP = paragraphs(
    """Show the mechanisms of one user, with their iterations.

Example:

  barnabas users describe --user alice
"""
)
ADD_HELP = paragraphs(
    """Create a user, or change the password of one.

The command prompts for the password, or reads it from the first line of a file or of standard input (--password-file
-), because other users could see it on a command line. The password is neither sent nor stored, only a SCRAM verifier
of it.

Example:

  echo secret | barnabas users add --user alice --password-file -
"""
)
DELETE_HELP = paragraphs(
    """Delete a user's credentials; quotas and access rules of the user stay.

Example:

  barnabas users delete --user alice
"""
)

# The server's limit for an explicit number of iterations.
_MOST_ITERATIONS: Final = 16_384
_MOST_PASSWORD_CHARACTERS: Final = 10_000

User = Annotated[str, Option("--user", metavar="NAME", help="Login name of the user.")]
Mechanism = Annotated[
    list[str] | None,
    Option("--mechanism", metavar="NAME", help=f"SASL mechanism: {' or '.join(SCRAM_MECHANISMS)}. May be repeated."),
]
LogDir = Annotated[str | None, Option("--log-dir", metavar="DIRECTORY", help="Data directory of a stopped broker.")]
ZooKeeper = Annotated[
    str | None, Option("--zookeeper", metavar="HOST:PORT/CHROOT", help="ZooKeeper address, as in zookeeper.connect.")
]


def list_users(
    log_dir: LogDir = None,
    zookeeper: ZooKeeper = None,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
    as_json: AsJson = False,
) -> None:
    where = _Where(log_dir, zookeeper, bootstrap_server, command_config, timeout)
    _show(where.run(lambda users: users.describe()), as_json)


def describe(
    user: User,
    log_dir: LogDir = None,
    zookeeper: ZooKeeper = None,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
    as_json: AsJson = False,
) -> None:
    where = _Where(log_dir, zookeeper, bootstrap_server, command_config, timeout)
    _show(where.run(lambda users: users.describe([user])), as_json)


def add(
    user: User,
    mechanism: Mechanism = None,
    iterations: Annotated[
        int,
        Option(
            "--iterations",
            min=LEAST_ITERATIONS,
            max=_MOST_ITERATIONS,
            metavar="N",
            help=f"Number of hash iterations; more make guessing slower (default: {LEAST_ITERATIONS}).",
        ),
    ] = LEAST_ITERATIONS,
    password_file: Annotated[
        str | None,
        Option("--password-file", metavar="FILE", help="File whose first line is the password; - for stdin."),
    ] = None,
    log_dir: LogDir = None,
    zookeeper: ZooKeeper = None,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
) -> None:
    mechanisms = _mechanisms(mechanism) or [SCRAM_MECHANISMS[SCRAM_SHA_512]]
    password = _password(password_file)
    dice = system_dice()
    credentials = [
        NewCredential.make(each, password, iterations, new_user_salt(dice.getrandbits)) for each in mechanisms
    ]
    where = _Where(log_dir, zookeeper, bootstrap_server, command_config, timeout)
    where.run(lambda users: users.set(user, credentials), creates=True)
    note(f"User {user} can log in with {', '.join(each.name for each in mechanisms)}.")


def delete(
    user: User,
    mechanism: Mechanism = None,
    log_dir: LogDir = None,
    zookeeper: ZooKeeper = None,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    timeout: TimeoutMs = None,
) -> None:
    wanted = _mechanisms(mechanism)

    async def work(users: UserAdmin | StoredUsers) -> list[ScramMechanism]:
        mechanisms = wanted or [SCRAM_MECHANISMS[name] for name in (await users.describe([user]))[user]]
        await users.delete(user, mechanisms)
        return mechanisms

    deleted = _Where(log_dir, zookeeper, bootstrap_server, command_config, timeout).run(work)
    note(f"User {user} can no longer log in with {', '.join(each.name for each in deleted)}.")


class _Where(NamedTuple):
    """The cluster whose users are managed, by the common options of the commands."""

    log_dir: str | None
    zookeeper: str | None
    bootstrap_server: str
    command_config: str | None
    timeout_ms: int | None

    def run(self, work: Callable[[UserAdmin | StoredUsers], Awaitable[T]], *, creates: bool = False) -> T:
        """Run work on the users of a running or a stopped cluster.

        Args:
            creates: Create the registry if it does not exist.
        """
        if self.log_dir is not None and self.zookeeper is not None:
            raise BarnabasError("--log-dir and --zookeeper exclude each other: give only one")
        return run_quietly(self._do(work, creates))

    async def _do(self, work: Callable[[UserAdmin | StoredUsers], Awaitable[T]], creates: bool) -> T:
        if self.log_dir is not None or self.zookeeper is not None:
            from barnabas.migration.open_registry import open_registry  # not needed for a running cluster

            path = None if self.log_dir is None else Path(self.log_dir)
            async with open_registry(path, self.zookeeper, creates=creates) as registry:
                return await work(StoredUsers(registry))
        settings = client_settings("barnabas-users", self.command_config, self.timeout_ms)
        async with connect(self.bootstrap_server, settings, UserAdmin) as admin:
            return await work(admin)


def _mechanisms(names: list[str] | None) -> list[ScramMechanism]:
    for name in names or []:
        if name not in SCRAM_MECHANISMS:
            raise BarnabasError(f"--mechanism {name}: must be {' or '.join(SCRAM_MECHANISMS)}")
    return [SCRAM_MECHANISMS[name] for name in dict.fromkeys(names or [])]


def _password(file: str | None) -> str:
    """Return the password. Raises BarnabasError if it is empty or not UTF-8."""
    try:
        password = _read_password(file).rstrip("\r\n")
        # Standard input may accept other bytes.
        password.encode()
    except UnicodeError:
        where = "standard input" if file in (None, "-") else file
        raise BarnabasError(f"{where}: the password must be UTF-8 text") from None
    if not password:
        raise BarnabasError("the password is empty: put it in the first line of --password-file or of standard input")
    return password


def _read_password(file: str | None) -> str:
    """Return the first line of a file or of standard input; ask for the password on a terminal."""
    if file is not None and file != "-":
        with open(file, encoding="utf-8") as opened_file:
            return opened_file.readline(_MOST_PASSWORD_CHARACTERS)
    if file is None and sys.stdin is not None and sys.stdin.isatty():
        from getpass import getpass

        try:
            password = getpass("Password: ")
            repeated = getpass("Repeat password: ")
        except EOFError:
            return ""
        if repeated != password:
            raise BarnabasError("the two passwords differ")
        return password
    return "" if sys.stdin is None else sys.stdin.readline(_MOST_PASSWORD_CHARACTERS)


def _show(described: dict[str, dict[str, int]], as_json: bool) -> None:
    rows: list[dict[str, Cell]] = [
        {"user": user, "mechanism": mechanism, "iterations": iterations}
        for user, credentials in sorted(described.items())
        for mechanism, iterations in credentials.items()
    ]
    if as_json:
        print_json(rows)
    else:
        print_table(["user", "mechanism", "iterations"], [list(row.values()) for row in rows])


SUBCOMMANDS: Final = {
    "list": (list_users, LIST_HELP),
    "describe": (describe, DESCRIBE_HELP),
    "add": (add, ADD_HELP),
    "delete": (delete, DELETE_HELP),
}
