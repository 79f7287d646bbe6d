"""The follower's side of an incremental fetch session: sends only changes to the leader. Pure.

A session begins with a full fetch (epoch 0), which also ends the session whose id it contains. It continues with epochs
1, 2, 3 ...: each request contains only changed and removed partitions, and each response only changes. The leader ends
the session when it has no partitions. A large number of partitions is added over several requests, because a request is
built in one turn of the event loop. A leader without a free session slot gets full requests each time.

Invariants:
- `asked` is the leader's state of the session; a response with other partitions is invalid.
- After an error, a lost request or an invalid response, the next request is a full one.

Source: KIP-227; Kafka 2.7.2, FetchSessionHandler.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Final, NamedTuple

from barnabas.broker.replicas.fetching.fetch_state import Progress
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import TopicPartition

FIRST_VERSION_WITH_SESSIONS: Final = 7
NO_SESSION: Final = 0
FULL_EPOCH: Final = 0
WITHOUT_SESSIONS_EPOCH: Final = -1
MOST_ADDED: Final = 1_000
"""The most partitions that one request adds to a session."""
_LAST_EPOCH: Final = 0x7FFFFFFF


class Asked(NamedTuple):
    """The position from which a partition is fetched.

    Attributes:
        progress: The partition's progress when it was requested; it also identifies the leader epoch.
    """

    progress: Progress
    offset: int
    log_start_offset: int


class FetchRequestData(NamedTuple):
    """The contents of one fetch request.

    Attributes:
        named: New and changed partitions, in order.
        forgotten: Removed partitions.
        later: Partitions that the next requests will add.
    """

    session_id: int
    session_epoch: int
    named: list[tuple[TopicPartition, Asked]]
    forgotten: list[TopicPartition]
    later: list[TopicPartition]


class FetchSession:
    """The session of one fetcher with its leader.

    Attributes:
        asked: All partitions of the leader's session.
    """

    __slots__ = ("_epoch", "_grows", "_has_sessions", "_id", "asked")

    def __init__(self, version: int) -> None:
        """Args:
        version: The version of the Fetch requests.
        """
        self._has_sessions = self._grows = version >= FIRST_VERSION_WITH_SESSIONS
        self._id = NO_SESSION
        self._epoch = FULL_EPOCH
        self.asked: dict[TopicPartition, Asked] = {}

    def ask(
        self,
        wanted: Callable[[TopicPartition], Asked | None],
        partitions: Iterable[TopicPartition],
        changed: Iterable[TopicPartition],
    ) -> FetchRequestData | None:
        """Make the next request.

        Args:
            wanted: Returns the position from which to fetch a partition; None: do not fetch it now.
            partitions: All partitions, in the order in which the leader should serve them.
            changed: Partitions whose request may differ from the last one.

        Returns:
            The request; None if there is nothing to fetch.
        """
        asked = self.asked
        if self._epoch == FULL_EPOCH:
            asked.clear()
            left = iter(partitions)
            for key in left:
                ask = wanted(key)
                if ask is not None:
                    asked[key] = ask
                    if self._grows and len(asked) == MOST_ADDED:
                        # differs from Kafka (large-fetch-session): Kafka requests all partitions in the first fetch.
                        break
            if not asked:
                return None
            epoch = FULL_EPOCH if self._has_sessions else WITHOUT_SESSIONS_EPOCH
            return FetchRequestData(self._id, epoch, list(asked.items()), [], list(left))
        # hot path: benchmarks/load (every fetch of a follower)
        named, forgotten, later = [], [], []
        room_end = len(asked) + MOST_ADDED
        for key in changed:
            if len(asked) >= room_end and key not in asked:
                later.append(key)
                continue
            ask = wanted(key)
            if ask is None:
                if asked.pop(key, None) is not None:
                    forgotten.append(key)
            elif asked.get(key) != ask:
                asked[key] = ask
                named.append((key, ask))
        if not asked and not forgotten:
            return None
        return FetchRequestData(self._id, self._epoch, named, forgotten, later)

    def has_answer(self, error_code: int, session_id: int, answered: Collection[TopicPartition]) -> str | None:
        """Process a response.

        Args:
            answered: The partitions in the response.

        Returns:
            The error of an invalid response; None: it is valid.
        """
        was_full = self._epoch == FULL_EPOCH
        if error_code:
            if error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
                self._id = NO_SESSION
            self._epoch = FULL_EPOCH
            return ErrorCode(error_code).name
        if was_full and len(answered) != len(self.asked):
            return self._reset(f"response for {len(answered)} partitions, expected {len(self.asked)}")
        for key in answered:
            if key not in self.asked:
                return self._reset(f"response for {key}, which was not requested")
        if was_full:
            self._grows = session_id != NO_SESSION
        if session_id == NO_SESSION:
            # The leader did not begin a session, or ended it.
            self._id, self._epoch = NO_SESSION, FULL_EPOCH
        elif not was_full and session_id != self._id:
            return self._reset(f"response in session {session_id}, expected {self._id}")
        else:
            self._id = session_id
            self._epoch = 1 if self._epoch == _LAST_EPOCH else self._epoch + 1
        return None

    def begin_anew(self) -> None:
        """Request all partitions in the next fetch, because the leader's state of the session is unknown."""
        self._epoch = FULL_EPOCH

    def _reset(self, why: str) -> str:
        self._epoch = FULL_EPOCH
        return why
