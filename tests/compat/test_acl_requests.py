"""Requests about ACLs, on a broker with and without an authorizer: the same on Kafka 2.7.2."""

import pytest

from barnabas.core.error_code import ErrorCode as E
from barnabas.wire.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.wire.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from barnabas.wire.protocol.messages.describe_acls import DescribeAclsRequest
from tests.compat.acl_requests import CONFIG, GOLDEN, play
from tests.compat.conftest import RunningBroker, started
from tests.compat.raw import ask

VERSIONS = range(3)
MESSAGE = "No Authorizer is configured on the broker."
# Type (topic), name, pattern type (literal), principal, host, operation (read), permission (allow).
ACL = (2, "t", 3, "User:a", "*", 3, 3)
ANYTHING = (1, None, 1, None, None, 1, 1)
# Those that are numbers of the protocol, of which 0 stands for what the sender does not know.
NUMBERS = (0, 2, 5, 6)


def changed(fields: tuple, place: int, value: int) -> tuple:
    return (*fields[:place], value, *fields[place + 1 :])


def numbers_in(version: int) -> list[int]:
    return [place for place in NUMBERS if version or place != 2]


def pattern_for(version: int, fields: tuple) -> tuple:
    """Version 0 knows literal names only, and has no field for the type of a pattern."""
    return fields if version else changed(fields, 2, 3)


@pytest.mark.parametrize("version", VERSIONS)
def test_no_acl_is_created(cluster: RunningBroker, version: int) -> None:
    def creation(*fields) -> AclCreation:
        return AclCreation(*pattern_for(version, fields))

    def results(*creations: AclCreation):
        answer = ask(cluster.bootstrap_servers, CreateAclsRequest(list(creations)), version)
        return answer and (answer.throttle_time_ms, [(each.error_code, each.error_message) for each in answer.results])

    refused = (E.SECURITY_DISABLED, MESSAGE)
    assert results() == (0, [])
    assert results(creation(*ACL)) == (0, [refused])
    # One for each, whether it is there twice or could never be.
    assert results(creation(*ACL), creation(*ACL), creation(1, "", 1, "nobody", "", 1, 1)) == (0, [refused] * 3)
    for place in numbers_in(version):
        assert results(creation(*ACL), creation(*changed(ACL, place, 0))) is None
        assert results(creation(*ACL), creation(*changed(ACL, place, 99))) == (0, [refused] * 2)


@pytest.mark.parametrize("version", VERSIONS)
def test_no_acl_is_described(cluster: RunningBroker, version: int) -> None:
    def described(*fields):
        answer = ask(cluster.bootstrap_servers, DescribeAclsRequest(*pattern_for(version, fields)), version)
        return answer and (answer.throttle_time_ms, answer.error_code, answer.error_message, answer.resources)

    refused = (0, E.SECURITY_DISABLED, MESSAGE.removesuffix("."), [])
    assert described(*ANYTHING) == refused
    assert described(*ACL) == refused
    for place in numbers_in(version):
        for unknown in (0, 99):
            assert described(*changed(ANYTHING, place, unknown)) == refused


@pytest.mark.parametrize("version", VERSIONS)
def test_no_acl_is_deleted(cluster: RunningBroker, version: int) -> None:
    def acl_filter(*fields) -> DeleteAclsFilter:
        return DeleteAclsFilter(*pattern_for(version, fields))

    def results(*filters: DeleteAclsFilter):
        answer = ask(cluster.bootstrap_servers, DeleteAclsRequest(list(filters)), version)
        return answer and (
            answer.throttle_time_ms,
            [(each.error_code, each.error_message, each.matching_acls) for each in answer.filter_results],
        )

    refused = (E.SECURITY_DISABLED, MESSAGE, [])
    assert results() == (0, [])
    assert results(acl_filter(*ACL), acl_filter(*ANYTHING), acl_filter(*ACL)) == (0, [refused] * 3)
    for place in numbers_in(version):
        for unknown in (0, 99):
            assert results(acl_filter(*ACL), acl_filter(*changed(ANYTHING, place, unknown))) == (0, [refused] * 2)


def test_with_an_authorizer_every_request_is_answered_as_by_kafka() -> None:
    lines = [line for line in GOLDEN.read_text().splitlines() if not line.startswith("#")]
    expected = dict(zip(lines[::2], lines[1::2], strict=True))
    with started(CONFIG) as running:
        told = {what: f"    {answer}" for what, answer in play(running.bootstrap_servers)}
    assert {what: answer for what, answer in told.items() if answer != expected[what]} == {}
    assert told.keys() == expected.keys()
