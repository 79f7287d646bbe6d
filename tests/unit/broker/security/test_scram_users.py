"""SCRAM credentials as they stand in the registry, and what becomes of those that are none."""

import asyncio
import logging

import pytest

from barnabas.broker.administration.scram import Deletion, ScramAdmin, Upsertion
from barnabas.broker.cluster.watcher import ConfigWatcher
from barnabas.broker.security.scram_users import ScramUsers
from barnabas.core.errors import ConfigError
from barnabas.wire.security.sasl.credential import ScramCredential, decode_credential, encode_credential
from tests.unit.memory_registry import played_with

CREDENTIAL = ScramCredential(b"salt", b"stored", b"server", 4096)
TEXT = "salt=c2FsdA==,stored_key=c3RvcmVk,server_key=c2VydmVy,iterations=4096"


def test_a_credential_stands_as_kafka_writes_it():
    assert encode_credential(CREDENTIAL) == TEXT
    assert decode_credential(TEXT) == CREDENTIAL
    assert decode_credential(",".join(reversed(TEXT.split(",")))) == CREDENTIAL
    without_salt = CREDENTIAL._replace(salt=b"")
    assert decode_credential(encode_credential(without_salt)) == without_salt


@pytest.mark.parametrize(
    "text",
    [
        "",
        "salt",
        TEXT + ",more=x",
        TEXT.replace("salt", "pepper"),
        TEXT.replace("c2FsdA==", "c2FsdA="),
        TEXT.replace("c3RvcmVk", "???"),
        TEXT.replace("c3RvcmVk", ""),
        TEXT.replace("4096", "0"),
        TEXT.replace("4096", "-1"),
        TEXT.replace("4096", "many"),
        TEXT.replace("4096", "9" * 20),
        TEXT + "," + TEXT,
    ],
)
def test_what_is_none_is_passed_over_and_told_without_its_text(text, caplog):
    with pytest.raises(ConfigError):
        decode_credential(text)
    users = ScramUsers()
    caplog.set_level(logging.WARNING)
    users.on_user_config("a%20b", {"SCRAM-SHA-256": text, "SCRAM-SHA-512": TEXT})
    assert users.of_user("a b") == {"SCRAM-SHA-512": CREDENTIAL}
    (record,) = caplog.records
    assert "user a b" in record.getMessage()
    assert "c3Rv" not in record.getMessage()


def test_users_come_change_and_go():
    users = ScramUsers()
    users.on_user_config("alice", {"SCRAM-SHA-256": TEXT, "producer_byte_rate": "1"})
    users.on_user_config("<default>", {"SCRAM-SHA-256": TEXT})
    users.on_user_config("bob/clients/c", {"SCRAM-SHA-256": TEXT})
    users.on_user_config("carol", {"consumer_byte_rate": "1"})
    assert users.names() == ["alice"]
    assert users.find("SCRAM-SHA-256", "alice") == CREDENTIAL
    assert users.find("SCRAM-SHA-512", "alice") is None
    assert users.find("SCRAM-SHA-256", "bob") is None
    users.on_user_config("alice", {})
    assert users.names() == []


def test_too_few_iterations_are_no_login(caplog):
    users = ScramUsers()
    users.on_user_config("alice", {"SCRAM-SHA-256": TEXT.replace("4096", "4095")})
    assert users.find("SCRAM-SHA-256", "alice") is None
    assert users.of_user("alice")["SCRAM-SHA-256"].iterations == 4_095
    assert "user alice" in caplog.text
    assert "4095 iterations" in caplog.text


def test_nobody_has_as_many_iterations_as_most():
    users = ScramUsers()
    assert users.usual_iterations("SCRAM-SHA-256") == 4_096
    for number in range(3):
        users.on_user_config(f"u{number}", {"SCRAM-SHA-256": TEXT.replace("4096", "8192")})
    for number in range(2):
        users.on_user_config(f"v{number}", {"SCRAM-SHA-256": TEXT})
        users.on_user_config(f"w{number}", {"SCRAM-SHA-256": TEXT.replace("4096", "1")})
    assert (users.usual_iterations("SCRAM-SHA-256"), users.usual_iterations("SCRAM-SHA-512")) == (8_192, 4_096)
    users.on_user_config("u0", {"SCRAM-SHA-256": TEXT})
    assert users.usual_iterations("SCRAM-SHA-256") == 4_096
    users.on_user_config("u1", {})
    users.on_user_config("v0", {"SCRAM-SHA-256": TEXT.replace("4096", "16384")})
    # Of as many the largest, on every broker.
    users.on_user_config("v1", {})
    assert users.usual_iterations("SCRAM-SHA-256") == 16_384


@pytest.mark.played(
    by=played_with(lambda registry, clock, spawner: (registry, ConfigWatcher(registry, clock, clock, spawner)))
)
async def test_users_of_one_request_share_commits(made, /):
    registry, watcher = made
    await watcher.start()
    multi, counts = registry.multi, [0, 0]

    async def counted(ops):
        counts[0] += 1
        counts[1] = max(counts)
        await asyncio.sleep(0)
        counts[0] -= 1
        return await multi(ops)

    registry.multi = counted
    admin = ScramAdmin(registry, watcher, ScramUsers())
    changes = [Upsertion(f"u{number}", 1, 4_096, b"salt", b"x" * 32) for number in range(120)]
    results = await admin.alter([*changes, Deletion("nobody", 1)])
    assert [name for name, result in results.items() if result.error_code] == ["nobody"]
    assert list(results)[1:] == [change.user for change in changes]
    assert len(await registry.children("/config/users")) == 120
    assert counts == [0, 50]
