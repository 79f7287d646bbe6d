"""Principals: the users that connections authenticate as.

Source: security page, authentication; semantics, security.
"""

from typing import NamedTuple

USER = "User"


class Principal(NamedTuple):
    """A user as access rules and quotas name it, written `User:alice`."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


# The principal of connections through a listener without authentication.
ANONYMOUS = Principal(USER, "ANONYMOUS")


def parse_principal(text: str) -> Principal:
    """Parse a principal such as `User:alice`; only the first colon counts.

    Raises:
        ValueError: The text is invalid.
    """
    kind, colon, name = text.partition(":")
    if not colon:
        raise ValueError(f"expected a string in format principalType:principalName but got {text}")
    return Principal(kind, name)
