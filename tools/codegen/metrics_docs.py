"""Generates `docs/metrics.md` from the table of metrics.

Run as `python -m tools.codegen.metrics_docs`; `scripts/generate` does.

Source: src/barnabas/broker/metrics/definitions.py.
"""

from pathlib import Path

from barnabas.broker.metrics.definitions import ABSENT, METRICS, Family

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/metrics.md"

_HEAD = """# Metrics

Generated from `src/barnabas/broker/metrics/definitions.py` by `scripts/generate`. [monitoring.md](monitoring.md) says
how to look at them.

Names follow from those of Kafka's JMX beans by rules, the ones of the example for Kafka of Prometheus' jmx_exporter:

| in JMX | here |
| --- | --- |
| `kafka.server:type=T,name=N`, a gauge | `kafka_server_t_n` |
| `name=NPerSec`, a meter | `kafka_server_t_n_total`: its count; a rate is `rate(...[1m])` |
| `name=NPercent` | `kafka_server_t_n_percent`, from 0 to 1 |
| a histogram or a timer | `kafka_server_t_n{quantile="0.99"}`, also `..._count` and `..._sum` |
| attribute `a-b` of a bean without `name` | `kafka_server_t_a_b`; what only grows ends in `_total` |
| attribute `a-b` of `type=T,user=U,client-id=C` | `kafka_server_quota_a_b{resource="T",user="U",clientId="C"}` |
| other tags | labels of the same name; of a tag that Kafka leaves out there is no label |

Quantiles (0.5, 0.75, 0.95, 0.99, 0.999) are of the last five minutes and wrong by 6 % at the most; counts and sums are
since the start of the broker.

BrokerTopicMetrics are there without a topic for the whole broker, and with one for each topic: `sum` counts twice
unless it says `{topic=""}` or `{topic!=""}`. A topic's vanish when the broker hosts none of its partitions any more.

"""


def _document() -> str:
    parts = [_HEAD, "| metric | kind | labels | meaning | in JMX |\n| --- | --- | --- | --- | --- |\n"]
    parts += [_row(family) for family in METRICS]
    parts.append("\n## What is not there\n\n| beans | why |\n| --- | --- |\n")
    parts += [f"| {absent.beans} | {absent.reason} |\n" for absent in ABSENT]
    return "".join(parts)


def _row(family: Family) -> str:
    labels = ", ".join(f"`{label}`" for label in family.labels)
    bean = f"`{family.bean}`" if family.bean else ""
    return f"| `{family.name}` | {family.kind.value} | {labels} | {family.help} | {bean} |\n"


def main() -> None:
    """Write the document."""
    DOCUMENT.write_text(_document())


if __name__ == "__main__":
    main()
