"""A made-up social site: the events of people, machines and abusers, with the ground truth.

The same plan gives the same events on every machine. docs/pipeline/generator.md describes them.
"""

from barnabas.pipeline.sources.social.ground_truth import (
    GROUND_TRUTH,
    Truth,
    access_log_lines,
    ground_truth,
    write_access_log,
    write_jsonl,
)
from barnabas.pipeline.sources.social.plan import NOBODY_MISBEHAVES, SITE, Shares, SitePlan
from barnabas.pipeline.sources.social.stream import Arrival, generate, pace

__all__ = [
    "GROUND_TRUTH",
    "NOBODY_MISBEHAVES",
    "SITE",
    "Arrival",
    "Shares",
    "SitePlan",
    "Truth",
    "access_log_lines",
    "generate",
    "ground_truth",
    "pace",
    "write_access_log",
    "write_jsonl",
]
