"""CreateAcls, DescribeAcls and DeleteAcls of all kinds of rules and filters, one after the other, as lines of text.

A line is what is asked, and under it stands the answer. Run as `python -m tests.compat.acl_requests` it asks Kafka
2.7.2 and writes tests/golden/acl-requests.txt.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from barnabas.wire.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.wire.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from barnabas.wire.protocol.messages.describe_acls import DescribeAclsRequest
from tests.compat.denials import tells, text_of
from tests.compat.raw import ask

GOLDEN = Path(__file__).parents[1] / "golden/acl-requests.txt"
CONFIG = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer", "super.users": "User:ANONYMOUS"}

Fields = tuple[Any, ...]

TYPE, NAME, PATTERN, PRINCIPAL, HOST, OPERATION, PERMISSION = range(7)
# A literal topic t; alice may read it from everywhere.
ACL: Fields = (2, "t", 3, "User:a", "*", 3, 3)
ANY: Fields = (1, None, 1, None, None, 1, 1)
# A rule that is right, beside one that may not be.
RIGHT: Fields = (2, "right", 3, "User:a", "*", 3, 3)


def with_field(fields: Fields, place: int, value: object) -> Fields:
    return (*fields[:place], value, *fields[place + 1 :])


def acl(**changes: object) -> Fields:
    fields = ACL
    for name, value in changes.items():
        fields = with_field(fields, globals()[name.upper()], value)
    return fields


CREATIONS: tuple[tuple[Fields, ...], ...] = (
    (),
    (ACL,),
    (ACL, ACL),
    *((RIGHT, acl(type=value)) for value in (1, 99)),
    (acl(type=6, name="token", operation=8),),
    (RIGHT, acl(name="")),
    (RIGHT, acl(type=4, name="x")),
    (acl(type=4, name="*", operation=9), acl(type=4, name="kafka-cluster", operation=9)),
    (acl(type=4, name="kafka-cluster", pattern=4, operation=9),),
    *((RIGHT, acl(pattern=value)) for value in (1, 2, 99)),
    (acl(name="p-", pattern=4), acl(name="*", pattern=4), acl(name="*")),
    *(
        (RIGHT, acl(name="principals", principal=value))
        for value in ("nobody", "", ":", "User:", "Group:x", "User:a:b", "User:*", "user:x")
    ),
    (acl(name="same"), acl(name="same", principal="nobody"), acl(name="other", principal="nobody"), RIGHT),
    *((acl(name="hosts", host=value),) for value in ("", "host.name", "10.0.0.0/8")),
    *((RIGHT, acl(name="operations", operation=value)) for value in (1, 2, 9, 12, 13, 99)),
    *((RIGHT, acl(name="permissions", permission=value)) for value in (1, 2, 99)),
    *((acl(name=value),) for value in ("a/b", ".", "..", "x\ty", "x" * 300, "ü ü")),
    *((acl(type=3, name=value),) for value in ("a/b", "a", "/")),
)
FILTERS: tuple[Fields, ...] = (
    ANY,
    (2, "t", 3, None, None, 1, 1),
    (2, "p-x", 2, None, None, 1, 1),
    (2, "*", 2, None, None, 1, 1),
    (2, "p-", 1, None, None, 1, 1),
    (2, None, 4, None, None, 1, 1),
    *(with_field(ANY, place, value) for place in (TYPE, PATTERN, OPERATION, PERMISSION) for value in (0, 99)),
    with_field(ANY, PRINCIPAL, "nobody"),
    with_field(ANY, PRINCIPAL, "User:*"),
    with_field(ANY, HOST, "host.name"),
    with_field(ANY, NAME, ""),
    with_field(ANY, PERMISSION, 2),
    with_field(ANY, OPERATION, 2),
)
DELETIONS: tuple[tuple[Fields, ...], ...] = (
    (),
    ((2, "not there", 3, None, None, 1, 1),),
    *(
        (with_field((2, "t", 3, None, None, 1, 1), place, value), (2, "hosts", 3, None, "host.name", 1, 1))
        for place in (TYPE, PATTERN, OPERATION, PERMISSION)
        for value in (0, 99)
    ),
    ((2, "t", 3, None, None, 1, 1), (2, None, 3, "User:a", None, 3, 1)),
    ((2, "p-zz", 2, None, None, 1, 1),),
    ((2, "", 3, None, None, 1, 1),),
    (ANY,),
    (ANY,),
)


def play(bootstrap_servers: str) -> Iterator[tuple[str, str]]:
    """Ask a broker with `CONFIG`; what was asked, and the answer."""

    def told(what: str, request, version: int) -> tuple[str, str]:
        return what, text_of(tells(ask(bootstrap_servers, request, version)))

    for number, creations in enumerate(CREATIONS):
        request = CreateAclsRequest([AclCreation(*each) for each in creations])
        yield told(f"{number} create {list(creations)}", request, 2)
    for version in (0, 1):
        request = CreateAclsRequest([AclCreation(*acl(name=f"v{version}"))])
        yield told(f"create v{version}", request, version)
    for version in (2, 1, 0):
        for number, fields in enumerate(FILTERS):
            wanted = fields if version else with_field(fields, PATTERN, 3)
            yield told(f"{number} describe v{version} {wanted}", DescribeAclsRequest(*wanted), version)
    for number, filters in enumerate(DELETIONS):
        deletion = DeleteAclsRequest([DeleteAclsFilter(*each) for each in filters])
        yield told(f"{number} delete {list(filters)}", deletion, 2)


def main() -> None:
    from tools.kafka.server import ONE_BROKER, QuickKafkaServer

    head = (
        "# What Kafka 2.7.2 answers to requests about access rules. Written by `python -m tests.compat.acl_requests`."
    )
    with QuickKafkaServer(config={**ONE_BROKER, **CONFIG}) as server:
        told = [line for what, answer in play(server.bootstrap_servers) for line in (what, f"    {answer}")]
    GOLDEN.write_text("\n".join([head, *told, ""]))


if __name__ == "__main__":
    main()
