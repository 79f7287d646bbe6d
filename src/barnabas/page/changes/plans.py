"""Previewed plans until their execution: each once, and only by its own session.

They are kept for ten minutes, at most a hundred: the oldest is dropped first.
"""

import asyncio
import secrets
from collections import OrderedDict
from typing import Final, NamedTuple

from barnabas.page.authentication.sessions import Session
from barnabas.page.changes.change import Plan
from barnabas.page.cluster import Cluster

MOST_PLANS: Final = 100
LONGEST_S: Final = 600


class Shown(NamedTuple):
    """A plan with its path, cluster and session."""

    plan: Plan
    path: str
    cluster: Cluster
    session: Session
    until_s: float


class Plans:
    """All previewed plans that were not executed, by id, oldest first."""

    def __init__(self) -> None:
        self._shown: OrderedDict[str, Shown] = OrderedDict()

    def keep(self, plan: Plan, path: str, cluster: Cluster, session: Session) -> str:
        """Keep a plan; return its id."""
        plan_id = secrets.token_urlsafe(16)
        self._shown[plan_id] = Shown(plan, path, cluster, session, asyncio.get_running_loop().time() + LONGEST_S)
        if len(self._shown) > MOST_PLANS:
            self._shown.popitem(last=False)
        return plan_id

    def of(self, plan_id: str, path: str, cluster: Cluster, session: Session) -> Plan | None:
        """Return a plan; None: it was executed, is too old, or belongs to another session."""
        shown = self._shown.get(plan_id)
        if shown is None or (shown.path, shown.cluster) != (path, cluster) or shown.session is not session:
            return None
        return shown.plan if asyncio.get_running_loop().time() < shown.until_s else None

    def drop(self, plan_id: str) -> None:
        """Drop a plan, so that it can't be executed any more."""
        self._shown.pop(plan_id, None)
