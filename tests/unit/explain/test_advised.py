"""What is advised can be pasted: a shell and our parser read any name as it is."""

import subprocess
from collections.abc import Iterable
from dataclasses import replace

from barnabas.cli.commands import SUBCOMMANDS, find_command
from barnabas.cli.parser import read_options
from barnabas.clients.transaction_log import TransactionState, TransactionStatus
from barnabas.core.advised_commands import NAME, command, options, with_options
from barnabas.explain.rules.group import explain_group
from barnabas.explain.rules.lag import explain_lag
from barnabas.explain.rules.transaction import explain_transaction
from barnabas.explain.snapshot import OpenTransaction
from tests.patience import PATIENCE_S
from tests.unit.explain.worlds import NOW_MS, VIEWS, all_of, behind, group, log, snapshot

SERVER = "real:9092"
NAMES = (
    "--bootstrap-server=evil:9092",
    "-",
    "-h",
    "--help",
    "--group",
    "a b",
    " ",
    "it's",
    '"',
    "$(touch evil)",
    "`touch evil`",
    "$'a'",
    "a\nb",
    "-a\nb",
    "\x1b[201~touch evil\r\n",
    "\u202eé",
    "a -- b",
    "' -- '",
    '" -- "',
    "it's\n -- ",
    "\\",
    "-\\'",
    "*",
    "#",
    "~",
)


def as_a_shell_reads(lines: Iterable[str]) -> list[list[str]]:
    """Split command lines by bash."""
    script = "".join(f"printf '%s\\0' {line.replace('barnabas', '', 1)}; echo\n" for line in lines)
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    made = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, check=True, timeout=PATIENCE_S)
    return [each.decode().split("\0") for each in made.stdout.split(b"\0\n")[:-1]]


def values_of(words: list[str]) -> dict[str, object]:
    """Read a command by our own parser. Raises CliUsageError."""
    name, *rest = words
    below = rest.pop(0) if name in SUBCOMMANDS else ""
    function, text = find_command(name, below)
    found = read_options(f"{name} {below}".rstrip(), text, function, rest)
    assert found is not None, "help was shown"
    return found


def advised(name: str) -> dict[str, str]:
    """What is advised about a group and a transactional id of a name: the parameter that the name is, by command."""
    groups = {name: replace(group({VIEWS[0]: 5}), name=name)}
    state = TransactionState(name, 3, 7, 0, 60_000, TransactionStatus.Ongoing, [VIEWS[0]], NOW_MS, NOW_MS)
    opened = OpenTransaction(VIEWS[0], 7, 0, 600, NOW_MS, is_hanging=False)
    found = (
        *explain_group(snapshot(groups=groups)),
        *explain_lag(replace(behind(5, log()), groups=groups, unread={})),
        *explain_transaction(snapshot(open_transactions=[opened], transactional_ids={name: state})),
    )
    lines = {line for each in all_of(found) for line in each.commands}
    assert len(lines) >= 4
    return {
        line: "name" if "explain" in line else "transactional_id" if "transactions" in line else "group"
        for line in lines
    }


def test_names_are_read_as_they_are_in_what_is_advised() -> None:
    wanted = [(name, line, parameter) for name in NAMES for line, parameter in advised(name).items()]
    connection = options(("--bootstrap-server", SERVER))
    lines = [with_options(line, connection) for _, line, _ in wanted]
    assert all(line.isprintable() for line in lines)
    for (name, line, parameter), words in zip(wanted, as_a_shell_reads(lines), strict=True):
        values = values_of(words)
        found = values[parameter]
        assert (found[0] if isinstance(found, list) else found, values["bootstrap_server"]) == (name, SERVER), line


def test_a_name_stands_where_it_is_read_best_and_options_before_it() -> None:
    assert command("explain", "lag", (NAME, "billing"), "--watch") == "barnabas explain lag billing --watch"
    line = command("explain", "lag", (NAME, "-b"), "--watch")
    assert with_options(line, options(("--bootstrap-server", "a:1,-b"))) == (
        "barnabas explain lag --watch --bootstrap-server a:1,-b -- -b"
    )
    assert command("groups", ("--group", "-b")) == "barnabas groups --group=-b"
    assert with_options(command("groups", ("--group", "a -- b")), "--json") == "barnabas groups --group 'a -- b' --json"
    assert command("groups", ("--group", "a b")) == "barnabas groups --group 'a b'"
    assert with_options("barnabas explain", "") == "barnabas explain"
