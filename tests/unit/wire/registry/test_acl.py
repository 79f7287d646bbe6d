import pytest

from barnabas.broker.registry.tree import SetAclOp, Stage, Tree, TreeOp
from barnabas.wire.registry import acl
from barnabas.wire.registry.acl import Acl, Identity
from barnabas.wire.registry.store import BadVersionError, CheckOp, CreateOp, DeleteOp, NoAuthError, RegistryError, SetOp

ALICE = acl.digest_identity(b"alice:secret")
HERE = Identity("ip", "10.1.2.3")


def test_a_digest_is_the_one_of_zookeepers_own_tool() -> None:
    # java org.apache.zookeeper.server.auth.DigestAuthenticationProvider super:admin
    assert acl.digest_identity(b"super:admin") == Identity("digest", "super:xQJmxLMiHGwaqBvst5y6rkB6HQs=")


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ([], None),
        ([Acl(31, "world", "anyone")], ()),
        ([Acl(31, "world", "anyone"), Acl(31, "world", "anyone")], ()),
        ([Acl(1, "world", "anyone")], (Acl(1, "world", "anyone"),)),
        ([Acl(31, "world", "everyone")], None),
        ([Acl(31, "auth", "")], (Acl(31, *ALICE),)),
        ([Acl(31, "auth", "ignored")], (Acl(31, *ALICE),)),
        ([Acl(31, "digest", "bob")], None),
        ([Acl(31, "digest", "bob:x:y")], None),
        ([Acl(31, "digest", "bob:x")], (Acl(31, "digest", "bob:x"),)),
        ([Acl(31, "ip", "10.0.0.0/8")], (Acl(31, "ip", "10.0.0.0/8"),)),
        ([Acl(31, "ip", "10.0.0.0/33")], None),
        ([Acl(31, "ip", "10.0.0")], None),
        ([Acl(31, "ip", "10.0.0.256")], None),
        ([Acl(31, "sasl", "bob")], None),
        ([Acl(31, "super", "")], None),
        ([Acl(31, "x509", "CN=bob")], (Acl(31, "x509", "CN=bob"),)),
        ([Acl(31, "x509", "bob")], None),
    ],
)
def test_a_list_is_settled_or_refused(sent: list[Acl], kept: tuple[Acl, ...] | None) -> None:
    assert acl.settled(sent, [HERE, ALICE]) == kept


def test_who_may_everything_owns_nothing_by_that_and_is_stopped_by_no_list() -> None:
    assert acl.settled([Acl(31, "auth", "")], [HERE, ALICE, acl.SUPER]) == (Acl(31, *ALICE),)
    assert acl.may((Acl(0, "digest", "x:y"),), acl.WRITE, (HERE, acl.SUPER))


def test_an_address_alone_is_no_login() -> None:
    assert acl.settled([Acl(31, "auth", "")], [HERE]) is None


@pytest.mark.parametrize(
    ("listed", "permission", "may"),
    [
        (Acl(31, *ALICE), acl.ADMIN, True),
        (Acl(1, *ALICE), acl.WRITE, False),
        (Acl(1, *ALICE), acl.READ | acl.ADMIN, True),
        (Acl(31, "digest", "alice:other"), acl.READ, False),
        (Acl(31, "ip", "10.1.2.3"), acl.READ, True),
        (Acl(31, "ip", "10.1.0.0/16"), acl.READ, True),
        (Acl(31, "ip", "10.0.0.0/16"), acl.READ, False),
        (Acl(31, "ip", "10.2.0.0/16"), acl.READ, False),
        (Acl(31, "ip", "0.0.0.0/0"), acl.READ, True),
        (Acl(31, "world", "anyone"), acl.READ, True),
    ],
)
def test_a_permission_is_for_whom_it_names(listed: Acl, permission: int, may: bool) -> None:
    assert acl.may((listed,), permission, (HERE, ALICE)) == may
    assert acl.may((listed,), permission, None)


def test_who_may_not_administer_sees_no_digest() -> None:
    assert acl.without_digests((Acl(31, *ALICE), Acl(1, "world", "anyone"))) == (
        Acl(31, "digest", "alice:x"),
        Acl(1, "world", "anyone"),
    )


def test_every_operation_wants_its_permission() -> None:
    tree = Tree()
    stage = Stage(tree, 1)
    mine = (Acl(acl.ALL, *ALICE),)
    stage.apply([CreateOp("/a", b"", acls=mine), CreateOp("/a/b", b"")], 0)
    tree.commit(stage)
    creation = CreateOp("/a/c", acls=mine)
    for op in (SetOp("/a", b"1"), CheckOp("/a", 0), creation, DeleteOp("/a/b"), SetAclOp("/a", mine)):
        ops: list[TreeOp] = [op]
        stage = Stage(tree, 1)
        with pytest.raises(NoAuthError):
            stage.apply(ops, 0, acl.Author(2, (HERE,)))
        stage.apply(ops, 0, acl.Author(2, (HERE, ALICE)))
        stage = Stage(tree, 1)
        stage.apply(ops, 0)


def test_a_list_of_permissions_has_a_version_of_its_own() -> None:
    stage = Stage(Tree(), 1)
    stage.apply([CreateOp("/a", b""), SetOp("/a", b"1")], 0)
    (stat,) = stage.apply([SetAclOp("/a", (Acl(1, *ALICE),), 0)], 5)
    assert stat is not None
    assert (stat.version, stat.aversion, stat.mtime, stat.mzxid) == (1, 1, 0, 1)
    with pytest.raises(BadVersionError):
        stage.apply([SetAclOp("/a", (), 0)], 5)


def test_a_refusal_says_which_operation_it_was() -> None:
    with pytest.raises(RegistryError) as refused:
        Stage(Tree(), 1).apply([CreateOp("/a"), CreateOp("/b"), DeleteOp("/c")], 0)
    assert refused.value.op_index == 2
