"""Interception of requests on their way into a broker, to test a client's error paths.

    with broker.on("Produce", topic="views").fail(ErrorCode.NOT_LEADER_OR_FOLLOWER, times=3) as refused:
        producer.produce("views", b"/index.html")
        assert producer.flush(10) == 0
    assert refused.count == 4

`Broker.on` returns a `Selection` of requests; each of its methods returns an `Interception`, which handles them from
that call until `remove` or the end of its `with` block.

Invariants:
- A request is recorded before it is handled, and so before its client has a response.
- An exception in a test's function leaves no client waiting: the request, or its response, continues unchanged, and the
  end of the block (or `remove`) raises the exception.
"""

from collections.abc import Callable
from types import TracebackType

from barnabas.broker.requests.interception_messages import Verdict
from barnabas.core.error_code import ErrorCode
from barnabas.testing.control import Action, ChangeAnswer, ChangeRequest, Control
from barnabas.testing.received_request import ReceivedRequest, api_named
from barnabas.wire.protocol.api_keys import ApiKey

_WAIT_S = 30.0


class Selection:
    """A selection of a broker's requests; each method starts an interception of them.

    `times` is the number of requests that the interception handles; None: all. Later ones are recorded but not changed.
    """

    def __init__(
        self,
        control: Control,
        api: str,
        *,
        version: int | None = None,
        client_id: str | None = None,
        topic: str | None = None,
        group: str | None = None,
        where: Callable[[ReceivedRequest], bool] | None = None,
    ) -> None:
        """Args:
        api: Kafka's name of the API, such as "Produce".
        version: Version of the API.
        topic: A topic that the request names, possibly besides others, or a request for all topics.
        group: A group that the request names.
        where: A further condition.

        Raises:
            ValueError: The API does not exist.
        """
        self._control = control
        self._api = api_named(api)

        def matches(request: ReceivedRequest) -> bool:
            topics = request.topics
            return (
                (version is None or request.api_version == version)
                and (client_id is None or request.client_id == client_id)
                and (topic is None or topics is None or topic in topics)
                and (group is None or group in request.groups)
                and (where is None or where(request))
            )

        self._matches = matches

    def watch(self) -> "Interception":
        """Record the requests without changing anything."""
        return self._begin(Action(), 0)

    def fail(self, error_code: ErrorCode, *, times: int | None = None, handles_first: bool = False) -> "Interception":
        """Respond with an error, in every error field of that version.

        Args:
            handles_first: Handle the request first: the client gets an error although its records are written.

        Raises:
            ValueError: NONE is not an error.
        """
        if error_code == ErrorCode.NONE:
            raise ValueError("NONE is not an error")
        return self._begin(Action(Verdict(error_code=int(error_code), handles_first=handles_first)), times)

    def drop(self, *, times: int | None = None, handles_first: bool = False) -> "Interception":
        """Close the connection instead of responding.

        Args:
            handles_first: Handle the request first: only the response is lost.
        """
        return self._begin(Action(Verdict(drops=True, handles_first=handles_first)), times)

    def ignore(self, *, times: int | None = None, handles_first: bool = False) -> "Interception":
        """Never respond. The connection stays open, and later requests on it are not handled.

        Args:
            handles_first: Handle the request first: only the response is lost.
        """
        return self._begin(Action(Verdict(ignores=True, handles_first=handles_first)), times)

    def delay(self, delay_s: float, *, times: int | None = None) -> "Interception":
        """Handle the requests at once, and delay the responses.

        Raises:
            ValueError: The time is negative.
        """
        if delay_s < 0:
            raise ValueError(f"delay_s={delay_s:g}: must not be negative")
        return self._begin(Action(Verdict(delay_ms=delay_s * 1000)), times)

    def hold(self, *, times: int | None = None) -> "Interception":
        """Leave requests unhandled until `Interception.release` or the end of the block."""
        return self._begin(Action(holds=True), times)

    def change_request(self, change: ChangeRequest, *, times: int | None = None) -> "Interception":
        """Replace requests before the broker handles them.

        Args:
            change: Takes the decoded request; changes it, or returns another one of the same class.
        """
        return self._begin(Action(change_request=change), times)

    def change_answer(self, change: ChangeAnswer, *, times: int | None = None) -> "Interception":
        """Handle requests, and replace the responses.

        Args:
            change: Takes the decoded answer and the request; changes the answer, or returns another one of the same
                class.
        """
        return self._begin(Action(Verdict(shows_answer=True), change_answer=change), times)

    def _begin(self, action: Action, times: int | None) -> "Interception":
        if times is not None and times < 0:
            raise ValueError(f"times={times}: must not be negative")
        made = Interception(self._control, self._api, self._matches, action, times)
        self._control.add(made)
        return made


class Interception:
    """The handling of selected requests, from its creation until `remove` or the end of its `with` block.

    If several interceptions select a request, all record it; the newest one with `times` left handles it. An
    interception continues after a restart of the broker.

    Attributes:
        api: The API of the requests.
    """

    def __init__(
        self,
        control: Control,
        api: ApiKey,
        matches: Callable[[ReceivedRequest], bool],
        action: Action,
        times: int | None,
    ) -> None:
        self.api = api
        self._control = control
        self._matches = matches
        self._action = action
        self._times_left = times
        self._requests: list[ReceivedRequest] = []
        self._held: list[int] = []
        self._error: Exception | None = None

    @property
    def requests(self) -> list[ReceivedRequest]:
        """Return all requests selected so far, in the order in which the broker received them."""
        with self._control.changed:
            return list(self._requests)

    @property
    def count(self) -> int:
        """Return the number of requests selected so far, including those that passed unchanged."""
        return len(self.requests)

    def wait_for(self, count: int = 1, timeout_s: float = _WAIT_S) -> list[ReceivedRequest]:
        """Wait until this many requests were selected; return all of them.

        Raises:
            TimeoutError: Fewer requests arrived in time.
        """
        with self._control.changed:
            if not self._control.changed.wait_for(lambda: len(self._requests) >= count, timeout_s):
                raise TimeoutError(f"{len(self._requests)} of {count} requests came in {timeout_s:g} s")
            return list(self._requests)

    def release(self) -> None:
        """Release the requests held now; later ones are held again."""
        with self._control.changed:
            held, self._held = self._held, []
        for number in held:
            self._control.say(number, Verdict())

    def remove(self) -> None:
        """Stop the interception and release held requests; does nothing if it was removed already.

        Raises:
            Exception: The first exception of a test's function (`where`, a change).
        """
        self._control.remove(self)
        self.release()
        with self._control.changed:
            error, self._error = self._error, None
        if error is not None:
            raise error

    def __enter__(self) -> "Interception":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.remove()

    # --- for `Control`, in its thread

    def selects(self, request: ReceivedRequest) -> bool:
        """Return whether the request is selected; False if `where` raises."""
        try:
            return self._matches(request)
        except Exception as error:
            self.note(error)
            return False

    def take(self, number: int, request: ReceivedRequest, *, may_act: bool) -> Action | None:
        """Record a selected request and return its handling. The caller holds `Control.changed`."""
        acts = may_act and self._times_left != 0
        if acts and self._times_left is not None:
            self._times_left -= 1
        seen = ReceivedRequest(request.api, request.api_version, request.client_id, request.message, acts)
        self._requests.append(seen)
        if acts and self._action.holds:
            self._held.append(number)
        return self._action if acts else None

    def note(self, error: Exception) -> None:
        """Keep the first exception for `remove`."""
        with self._control.changed:
            self._error = self._error or error
