"""Who is at the other end of a connection.

Source: security page, authentication; semantics, security.
"""

from typing import NamedTuple

USER = "User"


class Principal(NamedTuple):
    """Somebody that access rules and quotas name, written `User:alice`."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


# Whoever comes in through a listener that asks for no login.
ANONYMOUS = Principal(USER, "ANONYMOUS")
