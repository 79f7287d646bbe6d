"""Measure what barnabas.record.validation=full costs a produce request: broker CPU compared with `headers`, per build.

    python -m benchmarks.load.validation [--runs 15] [--count 300]

The builds are pure and compiled. One connection, one request in flight, no codec. The brokers of all settings run at
the same time and receive requests in turn, so that other work on the machine affects them equally. The figure is the
CPU time of the broker process per request.
"""

import argparse
import contextlib
import statistics
import sys
from itertools import product
from pathlib import Path
from typing import NamedTuple

from barnabas.wire.records.builder import BatchBuilder
from benchmarks.load import raw
from benchmarks.load.process import CPU_MICRO, cpu
from benchmarks.load.targets import Running, barnabas_of
from tools.wheel import compiled_environment

_TOPIC = "validated"
_TIMESTAMP_MS = 1_600_000_000_000


class Shape(NamedTuple):
    """The number and size of a batch's records."""

    record_count: int
    value_bytes: int


class Setting(NamedTuple):
    """A build and what it checks."""

    build: str
    validation: str


SHAPES = (Shape(1, 100), Shape(16, 1000), Shape(150, 100))
SETTINGS = tuple(Setting(*setting) for setting in product(("pure", "compiled"), ("headers", "full")))


def _request(shape: Shape) -> bytes:
    builder = BatchBuilder()
    for number in range(shape.record_count):
        builder.append(_TIMESTAMP_MS + number, None, bytes(shape.value_bytes))
    return raw.produce_request(_TOPIC, bytes(builder.build()))


def _cpu_micro(broker: Running, request: bytes, count: int) -> float:
    with raw.prepare(broker.address, _TOPIC) as connection:
        start_s = cpu(broker.pid)
        for _ in range(count):
            connection.sendall(request)
            error = raw.produce_error(raw.receive(connection), _TOPIC)
            if error:
                raise RuntimeError(f"the broker answers error {error}")
        return (cpu(broker.pid) - start_s) / count * 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--count", type=int, default=300, help="requests of each shape per run")
    options = parser.parse_args()
    pythons = {"pure": Path(sys.executable), "compiled": compiled_environment()}
    taken: dict[tuple[Setting, Shape], list[float]] = {}
    with contextlib.ExitStack() as stack:
        brokers = {
            setting: stack.enter_context(
                barnabas_of(pythons[setting.build], f"--override=barnabas.record.validation={setting.validation}")
            )
            for setting in SETTINGS
        }
        for run, shape, setting in product(range(options.runs + 1), SHAPES, SETTINGS):
            cpu_us = _cpu_micro(brokers[setting], _request(shape), options.count)
            if run:  # the first one warms up
                taken.setdefault((setting, shape), []).append(cpu_us)
    print(f"| batch | build | headers: {CPU_MICRO} | full: {CPU_MICRO} | full / headers |")
    print("| --- | --- | --- | --- | --- |")
    for shape, build in product(SHAPES, pythons):
        headers, full = (statistics.median(taken[Setting(build, kind), shape]) for kind in ("headers", "full"))
        print(
            f"| {shape.record_count} x {shape.value_bytes} bytes | {build} | {headers:.1f} | {full:.1f} | "
            f"{full / headers:.2f} |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
