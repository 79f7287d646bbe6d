"""Compiles part of the package where it is asked to; everything else about the package is in pyproject.toml.

`BARNABAS_COMPILE=1 pip install .` compiles the modules below with mypyc (it needs a C compiler and Python's headers);
without it the package is pure Python. The source is the same, and so is what it does: docs/adr/0004.
"""

import os
import sys
from importlib.util import find_spec

from setuptools import Extension, setup

# Computation over bytes, and the way of a small request; docs/adr/0004 says what does not gain by it, and what can't be
# compiled.
COMPILED = (
    "broker/groups/coordinator",
    "broker/groups/group_log",
    "broker/groups/offsets",
    "broker/groups/storage",
    "broker/groups/table",
    "broker/interbroker/channels",
    "broker/interbroker/connection",
    "broker/log/append_result",
    "broker/log/appends/replicated_batches",
    "broker/log/appends/record_validation",
    "broker/log/appends/prepared_batches",
    "broker/log/appends/rules",
    "broker/log/cleaner/record_scan",
    "broker/log/durability",
    "broker/log/operations",
    "broker/log/partition_log",
    "broker/log/segments/batch_reader",
    "broker/log/segments/mark",
    "broker/log/segments/offset_index",
    "broker/log/segments/roller",
    "broker/log/segments/segment",
    "broker/log/segments/segment_chain",
    "broker/log/segments/tail",
    "broker/log/segments/time_index",
    "broker/net/connection",
    "broker/net/framing",
    "broker/net/memory",
    "broker/net/outbox",
    "broker/net/reactor",
    "broker/net/selector",
    "broker/net/scheduler",
    "broker/quotas/manager",
    "broker/replicas/acks",
    "broker/replicas/fetching/fetch_session",
    "broker/replicas/fetching/fetch_state",
    "broker/replicas/fetching/fetcher",
    "broker/replicas/fetching/leader_requests",
    "broker/replicas/local_follower_replica",
    "broker/replicas/isr",
    "broker/replicas/leader_replicas",
    "broker/replicas/manager",
    "broker/replicas/partition",
    "broker/replicas/topic_counts",
    "broker/requests/context",
    "broker/requests/exchange",
    "broker/requests/fanout",
    "broker/requests/fetches/reader",
    "broker/requests/fetches/sessions",
    "broker/requests/fetches/delayed_fetch",
    "broker/requests/handlers/fetch",
    "broker/requests/handlers/offset_commit",
    "broker/requests/handlers/produce",
    "broker/requests/request_times",
    "broker/requests/session",
    "broker/requests/slices",
    "broker/requests/table",
    "core/purgatory",
    "wire/protocol/header",
    "wire/protocol/messages/fetch",
    "wire/protocol/messages/offset_commit",
    "wire/protocol/messages/produce",
    "wire/protocol/wire",
    "wire/records/assign",
    "wire/records/batch_rules",
    "wire/records/builder",
    "wire/records/convert",
    "wire/records/formats",
    "wire/records/legacy",
    "wire/records/message_set",
    "wire/records/message_walk",
    "wire/records/record",
    "wire/records/record_rules",
    "wire/records/transcode",
    "wire/records/precheck",
    "wire/records/walk",
)

# The same as in the extra `dev`: what the tests have seen.
COMPILER = "mypy==2.4.1"


def extensions() -> list[Extension]:
    from mypyc.build import mypycify

    paths = [f"src/barnabas/{module}.py" for module in COMPILED]
    # scripts/check judges the types; where a wheel is built libraries may be missing whose types the compiler can do
    # without.
    options = ["--config-file=", "--ignore-missing-imports", *paths]
    # One C file for each module, and -O1: more takes minutes and gains nothing; the walks over records take as many
    # instructions with -O3.
    return mypycify(options, group_name="barnabas", opt_level="1", debug_level="0", multi_file=True)


is_compiled = os.environ.get("BARNABAS_COMPILE", "") not in ("", "0")
# pip runs this file once without the compiler, to hear what building needs: it does not get beyond the call then.
has_compiler = find_spec("mypyc") is not None
setup(
    ext_modules=extensions() if is_compiled and has_compiler else [],
    setup_requires=[COMPILER] if is_compiled else [],
)
if is_compiled and not has_compiler:
    sys.exit(f"BARNABAS_COMPILE needs {COMPILER}")
