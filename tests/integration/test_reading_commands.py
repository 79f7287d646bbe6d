"""Commands and pages that read create nothing: no internal topic, and none of a name that does not exist.

A broker creates topics for whoever asks for a coordinator, or for metadata by name.
"""

import asyncio
from collections.abc import Iterator

import pytest

from barnabas.cli.commands import COMMANDS, SUBCOMMANDS
from barnabas.clients.pool import Pool
from barnabas.page.messages.state import MessageState
from barnabas.page.views import VIEWS, messages
from barnabas.testing import Broker
from tests.commands import run
from tests.integration.page_process import Window, running_page

ABSENT = ("--topic", "absent")
# Each command that only reads, in all the ways in which it asks brokers; some fail, as what they name does not exist.
READING: dict[str, tuple[tuple[object, ...], ...]] = {
    "cluster status": ((),),
    "topics": (("--list",), ("--describe",), ("--describe", *ABSENT)),
    "consume": (
        (*ABSENT, "--timeout-ms", 1),
        ("--include", "absent", "--timeout-ms", 1),
        (*ABSENT, "--partition", 0, "--offset", 0, "--timeout-ms", 1),
    ),
    "groups": (
        ("--list",),
        ("--list", "--state"),
        ("--describe", "--all-groups"),
        *(("--describe", "--group", "absent", what) for what in ("--offsets", "--members", "--state")),
        ("--reset-offsets", "--group", "absent", "--all-topics", "--to-earliest"),
        ("--reset-offsets", "--group", "absent", *ABSENT, "--to-earliest"),
    ),
    "groups translate": (("--group", "absent", "--target-bootstrap-server", "SERVER"),),
    "configs": (
        ("--describe", "--entity-type", "topics"),
        ("--describe", "--entity-type", "topics", "--entity-name", "absent"),
        ("--describe", "--entity-type", "brokers", "--entity-name", 0),
    ),
    "acls": (("--list",), ("--list", *ABSENT)),
    "log-dirs": (("--describe",), ("--describe", "--topic-list", "absent")),
    "reassign": (("--list",),),
    "explain": (
        (),
        *((question,) for question in ("client", "group", "lag", "refused", "slow", "topic", "disk", "transaction")),
        *((question, "absent") for question in ("group", "lag", "topic", "transaction")),
        ("broker",),
    ),
    "quotas list": ((),),
    "quotas explain": (("--client-id", "absent"),),
    "quotas top": (("--once",),),
    "quotas simulate": (("--client-id", "absent", "--set", "producer_byte_rate=1"),),
    "transactions list": ((),),
    "transactions describe": (("--transactional-id", "absent"),),
    "transactions hanging": ((), ABSENT),
    "users list": ((),),
    "users describe": (("--user", "absent"),),
    "perf consume": ((*ABSENT, "--messages", 1, "--timeout", 1),),
}
# What these do to a cluster is what they are for.
WRITING = {
    *("produce", "delete-records", "elect-leaders", "perf produce", "mirror", "pipeline"),
    *("quotas set", "quotas delete", "transactions abort", "users add", "users delete"),
}
# They start brokers or a page, read files, or talk to ZooKeeper.
WITHOUT_BROKERS = {
    *("broker", "cluster start", "page", "log dump", "log verify", "log stats", "adopt", "release", "groups migrate"),
    *(f"registry {name}" for name in SUBCOMMANDS["registry"]),
}
PATHS = [kind.path for kind in (*VIEWS, *messages.kinds(MessageState((), 0)))]
PARAMETERS = {
    "/topic": "?name=absent",
    "/group": "?name=absent",
    "/client": "?client_id=absent",
    "/messages": "?topic=absent",
    "/search": "?topic=absent&find=x",
    "/tail": "?topic=absent",
    "/record": "?topic=absent&partition=0&offset=0",
    "/find": "?q=absent",
}


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with Broker() as broker:
        yield broker.bootstrap_servers


def topics(servers: str) -> list[str]:
    async def ask() -> list[str]:
        async with Pool(servers) as pool:
            return sorted((await pool.metadata(None)).topics)

    return asyncio.run(ask())


def test_every_command_is_known_to_read_or_to_write() -> None:
    every = {name for name in COMMANDS if name not in SUBCOMMANDS}
    every |= {f"{name} {below}" for name, names in SUBCOMMANDS.items() for below in names}
    assert READING.keys() | WRITING | WITHOUT_BROKERS == every
    assert not READING.keys() & (WRITING | WITHOUT_BROKERS)


@pytest.mark.parametrize("command", READING)
def test_a_command_that_reads_creates_no_topic(servers: str, command: str) -> None:
    for arguments in READING[command]:
        words = [servers if each == "SERVER" else str(each) for each in arguments]
        ran = run(*command.split(), *words, "--bootstrap-server", servers)
        assert "--help" not in ran.stderr, ran.stderr
        assert topics(servers) == [], words


def test_no_view_of_the_page_creates_a_topic(servers: str) -> None:
    with running_page("--bootstrap-server", servers) as port:
        window = Window(port)
        window.get("/")
        for path in PATHS:
            told = window.get(f"/c/cluster{path}{PARAMETERS.get(path, '')}", accept="application/json")
            assert told.status in (200, 400, 404), told.text
            assert topics(servers) == [], path
