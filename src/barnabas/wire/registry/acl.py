"""ZooKeeper's access lists: permissions of identities on a node. Pure.

An identity is a scheme and an id in it. A client that connects is `ip:<its address>`; one that sent a user and a
password is `digest:<user>:<digest>` too. The broker itself needs no permission.

| scheme | id in a node's list | matching clients |
| --- | --- | --- |
| world | anyone | everybody |
| auth | (none) | replaced by the client's own identities when the list is set |
| digest | user:base64(SHA-1(user:password)) | clients that sent that user and password |
| x509 | a certificate's subject | clients with a TLS certificate of that subject |
| ip | address or address/bits | clients that connect from there |
| super | (none) | identities in barnabas.registry.super.users, which have all permissions |

Invariant: an empty list stands for `OPEN_TO_ALL`, which is what ZooKeeper calls `world:anyone:cdrwa`.

Source: ZooKeeper programmer's guide, access control using ACLs; ZooKeeper 3.5.9, PrepRequestProcessor.fixupACL and
checkACL, DigestAuthenticationProvider, IPAuthenticationProvider.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from barnabas.core.errors import ConfigError

READ: Final = 1
WRITE: Final = 2
CREATE: Final = 4
DELETE: Final = 8
ADMIN: Final = 16
ALL: Final = 31

_ADDRESS_BITS = 32
_DIGEST_CHARACTERS = 28


class Identity(NamedTuple):
    """An identity within a scheme."""

    scheme: str
    id: str


class Acl(NamedTuple):
    """The permissions of one identity: a sum of `READ` to `ADMIN`."""

    permissions: int
    scheme: str
    id: str


Acls = tuple[Acl, ...]

SUPER: Final = Identity("super", "")
OPEN_TO_ALL: Final[Acls] = (Acl(ALL, "world", "anyone"),)


class Author(NamedTuple):
    """The session behind a request, with its identities.

    Attributes:
        session_id: The owner of the ephemeral nodes that it makes.
        identities: The identities of its connection; None: the broker, which needs no permission.
    """

    session_id: int
    identities: tuple[Identity, ...] | None = None


def may(acls: Acls, permission: int, identities: Sequence[Identity] | None) -> bool:
    """Return whether a client has one of some permissions.

    Args:
        acls: The node's list; empty: open to all.
        permission: A sum of permissions, of which one is enough.
        identities: The client's identities; None: the broker.
    """
    if not acls or identities is None or SUPER in identities:
        return True
    for acl in acls:
        if not acl.permissions & permission:
            continue
        if acl.scheme == "world" and acl.id == "anyone":
            return True
        if any(each.scheme == acl.scheme and _matches(acl.scheme, each.id, acl.id) for each in identities):
            return True
    return False


def settled(acls: Iterable[Acl], identities: Sequence[Identity]) -> Acls | None:
    """Return the stored form of a client's list: without duplicates, `auth` replaced by the client's identities.

    Returns:
        None where ZooKeeper refuses the list: it is empty, or a scheme or id is unknown.
    """
    kept: list[Acl] = []
    for acl in dict.fromkeys(acls):
        if acl.scheme == "world" and acl.id == "anyone":
            kept.append(acl)
        elif acl.scheme == "auth":
            # An address is not a login; identities with all rights need no list.
            own = [Acl(acl.permissions, *each) for each in identities if each.scheme not in ("ip", "super")]
            if not own:
                return None
            kept.extend(own)
        elif (
            (acl.scheme == "digest" and acl.id.rstrip(":").count(":") == 1)
            or (acl.scheme == "ip" and _network(acl.id) is not None)
            or (acl.scheme == "x509" and "=" in acl.id)
        ):
            kept.append(acl)
        else:
            return None
    if not kept:
        return None
    return () if tuple(kept) == OPEN_TO_ALL else tuple(kept)


def super_users(text: str) -> frozenset[Identity]:
    """Return the identities in `barnabas.registry.super.users`.

    Raises:
        ConfigError: An identity is invalid; the error contains no digest.
    """
    found = set()
    for number, each in enumerate(filter(None, map(str.strip, text.split(";"))), 1):
        scheme, _, name = each.partition(":")
        is_digest = scheme == "digest" and name.count(":") == 1 and len(name.partition(":")[2]) == _DIGEST_CHARACTERS
        if not is_digest and not (scheme == "x509" and "=" in name):
            raise ConfigError(
                f"barnabas.registry.super.users: number {number} is neither digest:USER:BASE64 (of the SHA-1 of "
                "USER:PASSWORD) nor x509: and a certificate's subject"
            )
        found.add(Identity(scheme, name))
    return frozenset(found)


def without_digests(acls: Acls) -> Acls:
    """Return a list as shown to clients that may read the node but not administer it."""
    return tuple(
        acl._replace(id=f"{acl.id.partition(':')[0]}:x") if acl.scheme == "digest" and ":" in acl.id else acl
        for acl in acls
    )


def digest_identity(user_and_password: bytes) -> Identity:
    """Return the identity of a client that sent `user:password`."""
    # Imported here, because a broker without registry clients does not need it.
    from base64 import b64encode
    from hashlib import sha1

    user = user_and_password.partition(b":")[0].decode(errors="replace")
    digest = b64encode(sha1(user_and_password, usedforsecurity=False).digest()).decode()
    return Identity("digest", f"{user}:{digest}")


def _matches(scheme: str, own_id: str, listed_id: str) -> bool:
    if scheme != "ip":
        return own_id == listed_id
    listed, own = _network(listed_id), _network(own_id)
    if listed is None or own is None:
        return False
    address, bits = listed
    shift = _ADDRESS_BITS - bits
    return address >> shift == own[0] >> shift


def _network(text: str) -> tuple[int, int] | None:
    """Return the number of an IPv4 address and its significant bits; None if the text is invalid."""
    address, slash, bits_text = text.partition("/")
    parts = address.split(".")
    if len(parts) != 4 or not all(_is_number(part, 255) for part in parts):
        return None
    if slash and not _is_number(bits_text, _ADDRESS_BITS):
        return None
    number = 0
    for part in parts:
        number = number << 8 | int(part)
    return number, int(bits_text) if slash else _ADDRESS_BITS


def _is_number(text: str, most: int) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 3 and int(text) <= most
