"""Sessions: users and the clusters at which they are logged in, kept only in memory.

A session begins at a login, with a new id (an existing id is never reused). It ends, with its connections, at a logout
or after eight hours. Above the limit of sessions, the user with the most loses the least recently used one.

Without logins, all requests share one session, `guest`. With logins, `guest` has no cluster, and its token is for the
login form.
"""

import asyncio
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from hmac import compare_digest
from typing import Final

from barnabas.page.authentication.shares import first_to_go
from barnabas.page.cluster import Cluster

MOST_SESSIONS: Final = 100
LONGEST_S: Final = 8 * 3_600


@dataclass(slots=True, eq=False)
class Session:
    """The session of a user.

    Attributes:
        csrf: The token that each form contains.
        clusters: The visible clusters, by name.
        owner: The cluster and the user of the last login.
    """

    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    clusters: dict[str, Cluster] = field(default_factory=dict)
    owner: tuple[str, str] = ("", "")

    def has_token(self, text: str) -> bool:
        """Return whether a form's token is this session's token."""
        return compare_digest(text.encode(errors="replace"), self.csrf.encode())

    async def close(self) -> None:
        """Close the session's connections."""
        clusters = list(self.clusters.values())
        self.clusters.clear()
        await asyncio.gather(*(each.close() for each in clusters))


class Sessions:
    """All sessions, by id, in order of last use."""

    def __init__(self, guest: Session) -> None:
        self.guest = guest
        self._by_id: dict[str, Session] = {}
        self._ends: dict[str, asyncio.TimerHandle] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._by_id)

    def of(self, session_id: str | None) -> Session:
        """Return the session with an id, or the guest session."""
        session = None if session_id is None else self._by_id.pop(session_id, None)
        if session is None or session_id is None:
            return self.guest
        self._by_id[session_id] = session
        return session

    def begin(self, session: Session) -> str:
        """Add a session, and return its unguessable id."""
        while len(self._by_id) >= MOST_SESSIONS:
            self.end(first_to_go({name: each.owner for name, each in self._by_id.items()}, session.owner))
        session_id = secrets.token_urlsafe(32)
        self._by_id[session_id] = session
        self._ends[session_id] = asyncio.get_running_loop().call_later(LONGEST_S, self.end, session_id)
        return session_id

    def replace(self, session_id: str | None, cluster: Cluster) -> str:
        """Add a cluster to a session, change the session's id and token, and return the id."""
        before = None if session_id is None else self._by_id.pop(session_id, None)
        others: dict[str, Cluster] = {}
        if before is not None and session_id is not None:
            self._ends.pop(session_id).cancel()
            others = before.clusters
            if (same := others.pop(cluster.name, None)) is not None:
                self._close([same])
        owner = (cluster.name, cluster.user)
        return self.begin(Session(clusters={**others, cluster.name: cluster}, owner=owner))

    def end(self, session_id: str | None) -> None:
        """End the session with an id, if it exists."""
        session = None if session_id is None else self._by_id.pop(session_id, None)
        if session is not None and session_id is not None:
            self._ends.pop(session_id).cancel()
            self._close([session])

    def _close(self, those: Iterable[Session | Cluster]) -> None:
        for each in those:
            task = asyncio.get_running_loop().create_task(each.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """End all sessions."""
        for session_id in list(self._by_id):
            self.end(session_id)
        await asyncio.gather(self.guest.close(), *self._closing)
