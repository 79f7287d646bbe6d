"""Requests that name very many partitions: handled in slices, so that other work runs in between.

A handler of many items is written as a generator: after each partition it yields `MORE` if the request is large
(`RequestContext.is_large`), and its answer last. For a small request the answer comes first, at hardly more than the
cost of a plain call. A large one continues in turns of the loop, a slice of bounded time and count in each; all large
requests together get one slice a turn, one after the other. The generator's state may be stale after `MORE`: each
partition is checked and handled in one step.

The decoding of a large request and the encoding of its answer are pure, and run in a thread (`codec`): they delay the
loop by at most the interpreter's switch interval.

Invariants: a slice ends after `SLICE_STEPS` steps or `SLICE_NS`, whichever comes first; an exception fails the request
alone; a request whose client has disconnected is not continued.

Source: style page, one direction; design page, the shape.
"""

from collections import deque
from collections.abc import Callable, Generator
from typing import Any, Final, TypeAlias, TypeVar

from barnabas.broker.net.scheduler import Scheduler
from barnabas.core.executor import Executor
from barnabas.core.pending import Pending

T = TypeVar("T")

# A request with more array elements (mostly partitions) is large. Up to this number a request takes at most some
# milliseconds, and usually far less.
MOST_ELEMENTS_AT_ONCE = 500
# As long as a connection's turn (net/connection.py): other connections wait at most this long for either.
SLICE_NS = 100_000
# Bounds a slice on simulated time, where the clock does not.
SLICE_STEPS = 100


class Step:
    """A handler's signal that it is not done and will continue later.

    Attributes:
        awaited: It continues after this completes; in its next turn if None.
    """

    __slots__ = ("awaited",)

    def __init__(self, awaited: Pending[Any] | None = None) -> None:
        self.awaited = awaited


MORE: Final = Step()

# Any number of steps, then the answer or a pending answer.
Steps: TypeAlias = Generator[Step | T | Pending[T], None, None]


class Slices:
    """Runs large requests in slices. Owned by the event loop.

    Attributes:
        codec: Decodes large requests and encodes their answers.
    """

    __slots__ = ("_now_ns", "_running", "_scheduler", "codec")

    def __init__(self, scheduler: Scheduler, now_ns: Callable[[], int], codec: Executor) -> None:
        self._scheduler = scheduler
        self._now_ns = now_ns
        self._running: deque[_Run] = deque()
        self.codec = codec

    def answer(self, steps: Steps[T]) -> T | Pending[T]:
        """Return the answer if it is the first step, else a pending one."""
        first = next(steps)
        return self.go_on(steps, first) if isinstance(first, Step) else first

    def run(self, steps: Steps[T]) -> Pending[T]:
        """Return the answer when all steps are done; the first step runs in a later turn."""
        return self.go_on(steps, MORE)

    def go_on(self, steps: Steps[T], step: Step) -> Pending[T]:
        """Return the answer when the remaining steps after `step` are done."""
        run = _Run(steps)
        self._go_on_after(run, step)
        return run.pending

    def _go_on_after(self, run: "_Run", step: Step) -> None:
        awaited = step.awaited
        if awaited is None:
            self._queue(run)
            return

        def go_on(_: object) -> None:
            # The handler gets an error when it reads the value.
            if not run.pending.is_done:
                run.pending.on_cancel = run.close
                self._queue(run)

        def cancel() -> None:
            awaited.cancel()
            run.close()

        run.pending.on_cancel = cancel
        awaited.then(go_on, go_on)

    def _queue(self, run: "_Run") -> None:
        if not self._running:
            self._scheduler.add(self._take_turn)
        self._running.append(run)

    def _take_turn(self) -> None:
        """Run one slice of the next request."""
        running = self._running
        run = running.popleft()
        if running:
            self._scheduler.add(self._take_turn)
        if run.pending.is_done:
            return
        steps = run.steps
        end_ns = self._now_ns() + SLICE_NS
        try:
            for _ in range(SLICE_STEPS):
                step = next(steps)
                if step is not MORE:
                    break
                if self._now_ns() >= end_ns:
                    break
        except Exception as error:
            run.pending.fail(error)
            return
        if isinstance(step, Step):
            self._go_on_after(run, step)
        else:
            run.finish(step)


class _Run:
    """A large request in progress."""

    __slots__ = ("pending", "steps")

    def __init__(self, steps: Steps[Any]) -> None:
        self.steps = steps
        self.pending: Pending[Any] = Pending()
        self.pending.on_cancel = self.close

    def close(self) -> None:
        self.steps.close()

    def finish(self, answer: Any) -> None:
        """Complete a request with the result of its last step, an answer or a pending one."""
        self.close()
        if isinstance(answer, Pending):
            self.pending.on_cancel = answer.cancel
            answer.then(self.pending.complete, self.pending.fail)
        else:
            self.pending.complete(answer)
