"""Access rules by our own command and by Kafka's AclCommand, each seeing what the other did.

Source: cli page, kafka-acls.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.commands import Commands
from tests.compat.conftest import TARGET, started
from tools.kafka.java import run_tool

DOCS = Path(__file__).parents[2] / "docs"
CONFIG = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": "User:CN=a,O=b;User:ANONYMOUS",
}


@pytest.fixture(scope="module")
def commands() -> Iterator[Commands]:
    """Of a broker with access rules, on which who is anonymous may do everything."""
    with started(CONFIG) as running:
        yield Commands(running.bootstrap_servers)


def shown(commands: Commands, *arguments: str) -> list[tuple[str, ...]]:
    rows = commands.json("acls", *arguments)
    return [tuple(row.values()) for row in rows]


def acl_command(commands: Commands, *arguments: str) -> str:
    done = run_tool("kafka.admin.AclCommand", "--bootstrap-server", commands.servers, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rule(resource_type: str, name: str, pattern: str, principal: str, operation: str, host="*", permission="ALLOW"):
    return resource_type, name, pattern, principal, host, operation, permission


def test_rules_are_added_shown_and_removed(commands: Commands, name: str) -> None:
    topic = ("--topic", name)
    added = shown(commands, "--add", *topic, "--deny-principal", "User:eve", "--operation", "read")
    assert added == [rule("TOPIC", name, "LITERAL", "User:eve", "READ", permission="DENY")]
    shown(commands, "--add", *topic, "--allow-principal", "User:*", "--allow-host", "10.0.0.1")
    everybody = rule("TOPIC", name, "LITERAL", "User:*", "ALL", "10.0.0.1")
    assert shown(commands, "--list", *topic) == [everybody, *added]
    assert shown(commands, "--list", *topic, "--principal", "User:eve") == added
    heading, *lines = commands.run("acls", "--list", *topic).splitlines()
    assert heading.split("  ")[0] == "resource type"
    assert lines[0].split() == list(everybody)

    which = ("--deny-principal", "User:eve", "--operation", "Read")
    assert shown(commands, "--remove", "--force", *topic, *which) == added
    assert shown(commands, "--remove", "--force", *topic, *which) == []
    assert shown(commands, "--remove", "--force", *topic) == [everybody]
    assert commands.run("acls", "--list", *topic) == ""


def test_producers_and_consumers_get_what_they_need(commands: Commands, name: str) -> None:
    topic, group = ("--topic", f"{name}-"), ("--group", f"{name}-")
    prefixed = ("--resource-pattern-type", "prefixed")
    who = ("--allow-principal", "User:alice")
    added = shown(
        commands, "--add", *who, "--producer", "--consumer", "--idempotent", *topic, *group,
        "--transactional-id", f"{name}-", *prefixed,
    )  # fmt: skip
    prefix = f"{name}-", "PREFIXED", "User:alice"
    assert added == [
        *(rule("TOPIC", *prefix, operation) for operation in ("READ", "WRITE", "CREATE", "DESCRIBE")),
        rule("GROUP", *prefix, "READ"),
        rule("CLUSTER", "kafka-cluster", "LITERAL", "User:alice", "IDEMPOTENT_WRITE"),
        *(rule("TRANSACTIONAL_ID", *prefix, operation) for operation in ("WRITE", "DESCRIBE")),
    ]
    assert shown(commands, "--list", "--topic", f"{name}-x", "--resource-pattern-type", "match") == added[:4]
    assert shown(commands, "--list", "--topic", f"{name}-x") == []
    removed = shown(commands, "--remove", "--force", *who, "--consumer", *topic, *group, *prefixed)
    assert removed == [added[0], added[3], added[4]]
    shown(commands, "--remove", "--force", *topic, "--transactional-id", f"{name}-", *prefixed)
    shown(commands, "--remove", "--force", "--cluster", *who)


def test_what_cannot_be_is_one_line(commands: Commands) -> None:
    assert "Invalid empty resource name" in commands.fails(
        "acls", "--add", "--topic", "", "--allow-principal", "User:a"
    )


def test_our_command_and_kafkas_see_the_same(commands: Commands, name: str) -> None:
    resource = f"ResourcePattern(resourceType=TOPIC, name={name}, patternType=LITERAL)"
    told = acl_command(
        commands, "--add", "--allow-principal", "User:alice", "--producer", "--topic", name, "--transactional-id", name
    )
    assert f"Current ACLs for resource `{resource}`" in told
    topic = [rule("TOPIC", name, "LITERAL", "User:alice", operation) for operation in ("WRITE", "CREATE", "DESCRIBE")]
    assert shown(commands, "--list", "--topic", name) == topic
    shown(commands, "--add", "--topic", name, "--deny-principal", "User:CN=eve,O=x", "--operation", "DescribeConfigs")
    listed = acl_command(commands, "--list", "--topic", name)
    assert "(principal=User:CN=eve,O=x, host=*, operation=DESCRIBE_CONFIGS, permissionType=DENY)" in listed
    assert listed.count("principal=User:alice") == 3
    assert "principal=User:alice" not in acl_command(commands, "--list", "--principal", "User:CN=eve,O=x")
    acl_command(commands, "--remove", "--force", "--topic", name, "--transactional-id", name)
    assert shown(commands, "--list", "--topic", name) == []
    assert acl_command(commands, "--list", "--topic", name).strip() == ""


def test_the_documented_examples_work(commands: Commands) -> None:
    lines = [
        line.removeprefix("$ ").split()[1:]
        for document in ("security", "cli")
        for line in (DOCS / f"{document}.md").read_text().splitlines()
        if line.removeprefix("$ ").startswith("barnabas acls --")
    ]
    assert len(lines) == 10
    for line in lines:
        commands.run(*line)


@pytest.mark.skipif(TARGET == "kafka", reason="its own command line")
def test_without_rules_there_is_nothing_to_show() -> None:
    with started({}) as running:
        commands = Commands(running.bootstrap_servers)
        assert commands.fails("acls", "--list") == "barnabas acls: No Authorizer is configured on the broker\n"
