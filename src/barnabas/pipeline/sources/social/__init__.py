"""A believable social site, made up: everything that people, machines and misbehaviour do there, with the ground truth.

The same plan gives the same events on every machine. docs/pipeline/generator.md says who does what.
"""

from barnabas.pipeline.sources.social.broken import Broken
from barnabas.pipeline.sources.social.files import GROUND_TRUTH, access_log_lines, write_access_log, write_jsonl
from barnabas.pipeline.sources.social.plan import NOBODY_MISBEHAVES, SITE, Shares, SitePlan
from barnabas.pipeline.sources.social.stream import Event, Generated, generate, pace
from barnabas.pipeline.sources.social.truth import Truth, ground_truth

__all__ = [
    "GROUND_TRUTH",
    "NOBODY_MISBEHAVES",
    "SITE",
    "Broken",
    "Event",
    "Generated",
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
