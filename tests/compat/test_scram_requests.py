"""AlterUserScramCredentials and DescribeUserScramCredentials, request by request: the same answers as Kafka's."""

from hashlib import pbkdf2_hmac

import pytest

from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from barnabas.wire.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from tests.compat.conftest import RunningBroker
from tests.compat.raw import ask

SHA_256, SHA_512 = 1, 2
SALTED = {
    SHA_256: pbkdf2_hmac("sha256", b"secret", b"salt", 4096),
    SHA_512: pbkdf2_hmac("sha512", b"secret", b"salt", 4096),
}


def upsertion(user, mechanism=SHA_256, iterations=4096):
    return ScramCredentialUpsertion(user, mechanism, iterations, b"salt", SALTED.get(mechanism, b"x"))


class Users:
    def __init__(self, servers):
        self.servers = servers

    def alter(self, *changes):
        deletions = [each for each in changes if isinstance(each, ScramCredentialDeletion)]
        upsertions = [each for each in changes if isinstance(each, ScramCredentialUpsertion)]
        answer = ask(self.servers, AlterUserScramCredentialsRequest(deletions, upsertions), 0)
        return {each.user: (ErrorCode(each.error_code).name, each.error_message) for each in answer.results}

    def describe(self, *names, everybody=False):
        users = None if everybody else [UserName(name) for name in names]
        answer = ask(self.servers, DescribeUserScramCredentialsRequest(users), 0)
        assert (answer.error_code, answer.error_message) == (ErrorCode.NONE, SUCCESS)
        return {
            each.user: (
                ErrorCode(each.error_code).name,
                each.error_message,
                {info.mechanism: info.iterations for info in each.credential_infos},
            )
            for each in answer.results
        }


SUCCESS = ""


@pytest.fixture
def users(cluster: RunningBroker):
    return Users(cluster.bootstrap_servers)


def test_credentials_come_and_go(users, name):
    assert users.alter(upsertion(name), upsertion(name, SHA_512, 8192)) == {name: ("NONE", SUCCESS)}
    assert users.describe(name) == {name: ("NONE", SUCCESS, {SHA_256: 4096, SHA_512: 8192})}
    assert users.alter(ScramCredentialDeletion(name, SHA_256), upsertion(name, SHA_512, 4097)) == {
        name: ("NONE", SUCCESS)
    }
    assert users.describe(everybody=True)[name] == ("NONE", SUCCESS, {SHA_512: 4097})
    assert users.describe()[name] == ("NONE", SUCCESS, {SHA_512: 4097})
    assert users.alter(ScramCredentialDeletion(name, SHA_512)) == {name: ("NONE", SUCCESS)}
    assert name not in users.describe()


def test_a_name_may_be_any_text(users, name):
    odd = f"{name} ä=,/<default>*"
    users.alter(upsertion(odd))
    assert users.describe(odd)[odd] == ("NONE", SUCCESS, {SHA_256: 4096})
    users.alter(ScramCredentialDeletion(odd, SHA_256))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (upsertion(""), ("UNACCEPTABLE_CREDENTIAL", "Username must not be empty")),
        (ScramCredentialDeletion("", SHA_256), ("UNACCEPTABLE_CREDENTIAL", "Username must not be empty")),
        (upsertion("u", 0), ("UNSUPPORTED_SASL_MECHANISM", "Unknown SCRAM mechanism")),
        (upsertion("u", 3), ("UNSUPPORTED_SASL_MECHANISM", "Unknown SCRAM mechanism")),
        (ScramCredentialDeletion("u", 3), ("UNSUPPORTED_SASL_MECHANISM", "Unknown SCRAM mechanism")),
        (upsertion("u", iterations=4095), ("UNACCEPTABLE_CREDENTIAL", "Too few iterations")),
        (upsertion("u", iterations=-1), ("UNACCEPTABLE_CREDENTIAL", "Too few iterations")),
        (upsertion("u", iterations=16385), ("UNACCEPTABLE_CREDENTIAL", "Too many iterations")),
        (
            ScramCredentialUpsertion("u", SHA_256, 4096, b"salt", b""),
            ("UNKNOWN_SERVER_ERROR", "The server experienced an unexpected error when processing the request."),
        ),
        (
            ScramCredentialDeletion("nobody", SHA_256),
            ("RESOURCE_NOT_FOUND", "Attempt to delete a user credential that does not exist"),
        ),
    ],
)
def test_what_makes_no_sense(users, change, expected):
    assert users.alter(change) == {change.name: expected}


def test_twice_in_one_request(users, name):
    assert users.alter(upsertion(name), upsertion(name)) == {
        name: ("DUPLICATE_RESOURCE", "A user credential cannot be altered twice in the same request")
    }
    assert users.alter(upsertion(name), ScramCredentialDeletion(name, SHA_256)) == {
        name: ("DUPLICATE_RESOURCE", "A user credential cannot be altered twice in the same request")
    }
    assert name not in users.describe()


def test_one_wrong_change_costs_a_user_all_of_them_and_nobody_else(users, name):
    other = f"{name}-other"
    answer = users.alter(upsertion(name), upsertion(name, 9), upsertion(other))
    assert answer == {name: ("UNSUPPORTED_SASL_MECHANISM", "Unknown SCRAM mechanism"), other: ("NONE", SUCCESS)}
    assert list(answer) == [name, other]
    assert users.alter(ScramCredentialDeletion(name, SHA_256), upsertion(name, SHA_512))[name][0] == (
        "RESOURCE_NOT_FOUND"
    )
    assert {name, other} & set(users.describe()) == {other}
    users.alter(ScramCredentialDeletion(other, SHA_256))


def test_describing_who_is_not_there(users, name):
    assert users.describe(name) == {
        name: ("RESOURCE_NOT_FOUND", f"Attempt to describe a user credential that does not exist: {name}", {})
    }
    assert users.describe("") == {"": ("RESOURCE_NOT_FOUND", "Username must not be empty", {})}


def test_describing_somebody_twice(users, name):
    users.alter(upsertion(name))
    assert users.describe(name, name) == {
        name: (
            "DUPLICATE_RESOURCE",
            f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}",
            {},
        )
    }
    users.alter(ScramCredentialDeletion(name, SHA_256))


def test_an_empty_change(users):
    assert users.alter() == {}
