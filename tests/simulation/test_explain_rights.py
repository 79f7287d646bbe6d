"""What who may see: each question by each of some users, and that no name gets to whom it is kept from."""

import asyncio
import json
from collections.abc import Iterator

import pytest

from barnabas.clients.admin_quota_states import Limited
from barnabas.clients.producer import Producer
from barnabas.core.errors import KafkaError
from barnabas.explain.questions import QUESTIONS
from barnabas.explain.snapshot import Scope
from barnabas.wire.security.acls import Binding, Entry, Pattern, PatternType, Permission
from barnabas.wire.security.authorizer import CLUSTER, Operation, ResourceType
from barnabas.wire.security.principals import USER, Principal
from tests.simulation.explain_clients import USERS, attempt, log_in
from tests.simulation.explain_world import GROUP, TOPIC, Transactor, World
from tests.unit.explain.worlds import all_of

_JAAS = "listener.name.sasl_plaintext.plain.sasl.jaas.config"
PEOPLE = ("alice", "bob", "carol")
SETTINGS = {**USERS, _JAAS: USERS[_JAAS].replace('user_alice="alice"', 'user_alice="alice" user_carol="carol"')}
# Client ids, groups, topics, transactional ids, users and hosts that stand in what happened.
NAMES = ("reader-0", "hidden-app", "hidden-biller", "hidden-topic", "hidden-id", "shown-id", "guesser", GROUP, TOPIC)
ASKED_ABOUT = {
    "client": ("hidden-app", "reader-0"),
    "group": (GROUP,),
    "lag": (GROUP,),
    "refused": ("alice", "guesser"),
    "slow": ("hidden-app",),
    "topic": (TOPIC, "hidden-topic"),
    "disk": (TOPIC, "hidden-topic"),
    "transaction": ("hidden-id", "shown-id"),
    "broker": ("1",),
}
HIDDEN = {each for each in NAMES if each.startswith("hidden")} | {"guesser", "reader-0"}


def allow(user: str, kind: ResourceType, name: str, operation: Operation = Operation.DESCRIBE) -> Binding:
    return Binding(
        Pattern(kind, name, PatternType.LITERAL), Entry(Principal(USER, user), "*", operation, Permission.ALLOW)
    )


# alice may write to one topic, bob may describe what he names, carol the cluster.
RULES = [
    allow("alice", ResourceType.TOPIC, TOPIC, Operation.WRITE),
    allow("bob", ResourceType.GROUP, GROUP),
    allow("bob", ResourceType.TOPIC, TOPIC),
    allow("bob", ResourceType.TRANSACTIONAL_ID, "shown-id"),
    allow("carol", ResourceType.CLUSTER, CLUSTER),
]


def asks() -> Iterator[tuple[str, Scope]]:
    """Each question, of all and of each name."""
    for question in QUESTIONS:
        yield question, Scope()
        for name in ASKED_ABOUT[question]:
            yield question, Scope(name, client_id=name) if question == "client" else Scope(name)


async def told(world: World, user: str) -> dict[str, set[str]]:
    """Ask everything as a user; which names stand in what facts told, and in the findings, that were not asked for."""
    facts: set[str] = set()
    findings: set[str] = set()
    for question, asked in asks():
        try:
            found, snapshot = await world.ask(question, asked, 60, client_id="app", user=user)
        except KafkaError:
            continue
        text = json.dumps([each.as_dict() for each in all_of(found)])
        findings |= {name for name in NAMES if name != asked.name and len(name) > 1 and name in text}
        kept = json.dumps(snapshot.facts)
        facts |= {name for name in NAMES if f'"{name}"' in kept}
    return {"facts": facts, "findings": findings}


async def story(world: World) -> dict[str, dict[str, set[str]]]:
    await world.start()
    await world.create()
    await world.create("hidden-topic")
    await world.write(5)
    await world.group(1)
    for name in ("hidden-id", "shown-id"):
        transactor = await Transactor(world, "hidden-biller", name).begin()
        await transactor.write(2, "hidden-topic")
        await transactor.end(is_commit=False)
    # Held, refused and turned away: alice and others.
    await world.admin.create_acls(RULES)
    await world.admin.alter_limits(Limited(None, "hidden-app"), {"producer_byte_rate": 1_000})
    await world.admin.alter_limits(Limited(None, "app"), {"producer_byte_rate": 1_000})
    await asyncio.sleep(1)
    for client_id, user in (("hidden-app", None), ("app", "alice")):
        async with Producer(world.pool(client_id, user), linger_ms=0, request_timeout_ms=60_000) as producer:
            for _ in range(12):
                await (await producer.send(TOPIC, b"x" * 5_000, partition=0))
    await log_in(world, "guesser", "guesser")
    await attempt(world, "bob")
    await asyncio.sleep(2)
    return {user: await told(world, user) for user in PEOPLE} | {"own": await own(world)}


async def own(world: World) -> dict[str, set[str]]:
    """What alice is told of her own client, who has no right to it."""
    found, snapshot = await world.ask("client", Scope(), 60, client_id="app", user="alice")
    assert {row["user"] for row in snapshot.facts["holds"]} == {"alice"}
    return {"verdicts": {each.verdict for each in found}}


@pytest.fixture(scope="module")
def known() -> dict[str, dict[str, set[str]]]:
    world = World(1, 1, SETTINGS)

    async def play() -> dict[str, dict[str, set[str]]]:
        try:
            return await asyncio.wait_for(story(world), 3_600)
        finally:
            await world.close()

    return world.simulation.run(play())


def test_one_is_told_of_ones_own_client_without_a_right(known) -> None:
    assert "was-held" in known["own"]["verdicts"]


def test_without_a_right_nothing_of_others_is_told(known) -> None:
    # Who may write may describe.
    assert known["alice"]["facts"] == {TOPIC}
    assert known["alice"]["findings"] & HIDDEN == set()


def test_who_may_describe_what_he_names_is_told_that_and_no_more(known) -> None:
    # Who is in a group stands in what its coordinator tells of it.
    assert known["bob"]["facts"] == {GROUP, TOPIC, "shown-id", "reader-0", "hidden-biller"}
    assert known["bob"]["findings"] & HIDDEN <= {"reader-0", "hidden-biller"}


def test_who_may_describe_the_cluster_is_told_what_happened(known) -> None:
    assert known["carol"]["facts"] >= {"hidden-app", "hidden-id", "reader-0", "hidden-biller"}


def test_a_name_that_nobody_has_is_told_to_nobody(known) -> None:
    # Whoever guessed it: it may be a password.
    assert all("guesser" not in known[user]["facts"] for user in PEOPLE)
