"""The request path of several builds beside each other: broker CPU per request, in turn on brokers that run at once.

    python -m benchmarks.load.beside before=OTHER/.venv/bin/python now=.venv/bin/python [compiled=compiled]
        [--runs 60] [--only one,hundred,poll]

Each build is a name and the Python of an environment that barnabas is installed in; `compiled` as a path is the
compiled wheel of this tree. What else the machine does meets all of them alike, so that small differences show. The
figures are medians; a ratio is the median of the ratios to the first build within a round. Name one build twice to see
how far two equal ones differ.

| work | what it is | figure |
| --- | --- | --- |
| `one` | one connection, a Produce of 100 bytes in flight | CPU µs per request |
| `hundred` | the same on each of a hundred connections | CPU µs per request, requests/s |
| `read` | a Fetch of one batch, without a session | CPU µs per request |
| `session` | the same within an incremental session; a build without sessions is asked anew each time | the same |
| `poll` | a Fetch that waits, and a Produce that wakes it | CPU µs for the two, µs from produce to fetched answer |
"""

import argparse
import contextlib
import select
import socket
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.load import raw
from benchmarks.load.process import cpu_s
from benchmarks.load.targets import Running, barnabas_of
from tools.wheel import compiled_environment

_TOPIC = "beside"
_RECORD_BYTES = 100
_CONNECTIONS = 100
_ONE_COUNT, _HUNDRED_COUNT, _POLL_COUNT = 400, 1_500, 60
_WITHOUT_SESSION, _NEW_SESSION = (0, -1), (0, 0)
# Long enough for a fetch to be parked at the broker.
_PARKED_S = 0.0005

Figures = dict[str, float]


class Subject:
    """A running broker and the connections to it, which stay open from round to round."""

    def __init__(self, broker: Running) -> None:
        self._pid = broker.pid
        self._producer = raw.prepare(broker.address, _TOPIC)
        self._consumer = raw.connect(broker.address)
        self._request = raw.produce_request(_TOPIC, raw.record_batch(_RECORD_BYTES))
        self._poller = select.epoll()
        self._crowd: dict[int, socket.socket] = {}
        for _ in range(_CONNECTIONS):
            connection = raw.connect(broker.address)
            self._crowd[connection.fileno()] = connection
            self._poller.register(connection, select.EPOLLIN)

    def close(self) -> None:
        for connection in (self._producer, self._consumer, *self._crowd.values()):
            connection.close()
        self._poller.close()

    def _produce(self) -> bytes:
        self._producer.sendall(self._request)
        answer = raw.receive(self._producer)
        if error := raw.produce_error(answer, _TOPIC):
            raise RuntimeError(f"the broker answers error {error}")
        return answer

    def one(self) -> Figures:
        start_s = cpu_s(self._pid)
        for _ in range(_ONE_COUNT):
            self._produce()
        return {"one: CPU µs": (cpu_s(self._pid) - start_s) / _ONE_COUNT * 1e6}

    def hundred(self) -> Figures:
        start_cpu_s, start_s = cpu_s(self._pid), time.perf_counter()
        for connection in self._crowd.values():
            connection.sendall(self._request)
        sent_count, answered_count = _CONNECTIONS, 0
        while answered_count < _HUNDRED_COUNT:
            for descriptor, _ in self._poller.poll(60):
                raw.receive(self._crowd[descriptor])
                answered_count += 1
                if sent_count < _HUNDRED_COUNT:
                    self._crowd[descriptor].sendall(self._request)
                    sent_count += 1
        return {
            "hundred: CPU µs": (cpu_s(self._pid) - start_cpu_s) / _HUNDRED_COUNT * 1e6,
            "hundred: requests/s": _HUNDRED_COUNT / (time.perf_counter() - start_s),
        }

    def read(self) -> Figures:
        start_s = cpu_s(self._pid)
        for offset in range(_ONE_COUNT):
            self._consumer.sendall(raw.session_fetch_request(_TOPIC, offset, _WITHOUT_SESSION))
            raw.receive(self._consumer)
        return {"read: CPU µs": (cpu_s(self._pid) - start_s) / _ONE_COUNT * 1e6}

    def session(self) -> Figures:
        self._consumer.sendall(raw.session_fetch_request(_TOPIC, 0, _NEW_SESSION))
        session_id = raw.session_of(raw.receive(self._consumer))
        start_s = cpu_s(self._pid)
        for offset in range(1, _ONE_COUNT + 1):
            session = (session_id, offset) if session_id else _NEW_SESSION
            self._consumer.sendall(raw.session_fetch_request(_TOPIC, offset, session))
            raw.session_of(raw.receive(self._consumer))
        return {"session: CPU µs": (cpu_s(self._pid) - start_s) / _ONE_COUNT * 1e6}

    def poll(self) -> Figures:
        offset = raw.base_offset(self._produce(), _TOPIC) + 1
        times_s = []
        start_cpu_s = cpu_s(self._pid)
        for _ in range(_POLL_COUNT):
            self._consumer.sendall(raw.fetch_request(_TOPIC, offset))
            time.sleep(_PARKED_S)
            start_s = time.perf_counter()
            self._producer.sendall(self._request)
            raw.receive(self._consumer)
            times_s.append(time.perf_counter() - start_s)
            raw.receive(self._producer)
            offset += 1
        return {
            "poll: CPU µs": (cpu_s(self._pid) - start_cpu_s) / _POLL_COUNT * 1e6,
            "poll: p50 µs": statistics.median(times_s) * 1e6,
        }


WORKS: dict[str, Callable[[Subject], Figures]] = {
    "one": Subject.one,
    "hundred": Subject.hundred,
    "read": Subject.read,
    "session": Subject.session,
    "poll": Subject.poll,
}


def _table(taken: dict[str, list[Figures]]) -> str:
    names = list(taken)
    first = names[0]
    rows = [["work", *names, *(f"{name} / {first}" for name in names[1:])]]
    rows.append(["---"] * len(rows[0]))
    for key in taken[first][0]:
        row = [key, *(f"{statistics.median(run[key] for run in taken[name]):,.1f}" for name in names)]
        for name in names[1:]:
            ratios = [run[key] / base[key] for run, base in zip(taken[name], taken[first], strict=True)]
            row.append(f"{statistics.median(ratios):.3f}")
        rows.append(row)
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="+", help="NAME=PYTHON")
    parser.add_argument("--runs", type=int, default=60, help="rounds; one more warms up")
    parser.add_argument("--only", default=",".join(WORKS), help="works by name")
    options = parser.parse_args()
    works = [WORKS[name] for name in options.only.split(",")]
    taken: dict[str, list[Figures]] = {}
    with contextlib.ExitStack() as stack:
        subjects = {}
        for build in options.builds:
            name, path = build.split("=", 1)
            python = compiled_environment() if path == "compiled" else Path(path).absolute()
            subjects[name] = stack.enter_context(contextlib.closing(Subject(stack.enter_context(barnabas_of(python)))))
            taken[name] = []
        for run in range(options.runs + 1):
            figures: dict[str, Figures] = {name: {} for name in subjects}
            for work in works:
                # Forwards and backwards: who comes first has a cold cache.
                order = list(subjects.items())
                for name, subject in order if run % 2 else reversed(order):
                    figures[name].update(work(subject))
            if run:
                for name in subjects:
                    taken[name].append(figures[name])
    print(_table(taken))
    return 0


if __name__ == "__main__":
    sys.exit(main())
