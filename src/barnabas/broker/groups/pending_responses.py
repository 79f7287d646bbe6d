"""Pending responses: a JoinGroup or SyncGroup waits under its member id until the group is ready.

Invariant: at most one join and one sync wait for a member; the group answers the old one before a new one waits.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from barnabas.broker.groups.events import (
    Answer,
    AnswerDeletion,
    AnswerJoin,
    AnswerSync,
    AwaitJoin,
    AwaitSync,
    DeletionAnswer,
    FinishJoin,
    FinishSync,
    JoinAnswer,
    SyncAnswer,
)
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending

Reply = Answer | AnswerDeletion | AnswerJoin | AnswerSync | AwaitJoin | AwaitSync | FinishJoin | FinishSync


def _for_nobody() -> Pending[Any]:
    """Return a cancelled response, for an event without a caller."""
    pending: Pending[Any] = Pending()
    pending.cancel()
    return pending


_FOR_NOBODY = _for_nobody()


class Caller:
    """The pending responses of the request of an event; only the one for the request's API is used."""

    __slots__ = ("deletion", "join", "plain", "sync")

    def __init__(
        self,
        *,
        join: Pending[JoinAnswer] = _FOR_NOBODY,
        sync: Pending[SyncAnswer] = _FOR_NOBODY,
        plain: Pending[ErrorCode] = _FOR_NOBODY,
        deletion: Pending[DeletionAnswer] = _FOR_NOBODY,
    ) -> None:
        self.join = join
        self.sync = sync
        self.plain = plain
        self.deletion = deletion


NOBODY = Caller()
"""The caller of events without a request, which the group never answers."""


class PendingResponses:
    """The pending responses of all groups. Owned by the event loop."""

    __slots__ = ("_joins", "_syncs")

    def __init__(self) -> None:
        self._joins: dict[tuple[str, str], Pending[JoinAnswer]] = {}
        self._syncs: dict[tuple[str, str], Pending[SyncAnswer]] = {}

    def __len__(self) -> int:
        return len(self._joins) + len(self._syncs)

    def reply(self, group_id: str, effect: Reply, caller: Caller) -> Callable[[], object] | None:
        """Store a waiting request, or find the request that an effect answers.

        Returns:
            A function that answers the request, to be called after all bookkeeping; None if no request is answered.
        """
        match effect:
            case Answer(error_code):
                return partial(caller.plain.complete, error_code)
            case AnswerJoin(join_answer):
                return partial(caller.join.complete, join_answer)
            case AnswerSync(sync_answer):
                return partial(caller.sync.complete, sync_answer)
            case AnswerDeletion(deletion_answer):
                return partial(caller.deletion.complete, deletion_answer)
            case AwaitJoin(member_id):
                self._joins[group_id, member_id] = caller.join
            case AwaitSync(member_id):
                self._syncs[group_id, member_id] = caller.sync
            case FinishJoin(member_id, join_answer):
                join = self._joins.pop((group_id, member_id), None)
                return None if join is None else partial(join.complete, join_answer)
            case FinishSync(member_id, sync_answer):
                sync = self._syncs.pop((group_id, member_id), None)
                return None if sync is None else partial(sync.complete, sync_answer)
        return None
