"""Generates `docs/metrics.md` from the table of metrics.

Run as `python -m tools.codegen.metrics_docs`; part of `scripts/generate`.

Source: src/barnabas/broker/metrics/definitions.py.
"""

from pathlib import Path

from barnabas.broker.metrics.definitions import ABSENT, METRICS, Family

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/metrics.md"

_HEAD = """# Metrics

Generated from `src/barnabas/broker/metrics/definitions.py` by `scripts/generate`. [monitoring.md](monitoring.md)
explains how to read and use the metrics.

Metric names are derived from Kafka's JMX beans by the rules of the Kafka example of Prometheus' jmx_exporter:

| JMX | metric |
| --- | --- |
| `kafka.server:type=T,name=N`, a gauge | `kafka_server_t_n` |
| `name=NPerSec`, a meter | `kafka_server_t_n_total`, the count; query the rate with `rate(...[1m])` |
| `name=NPercent` | `kafka_server_t_n_percent`, from 0 to 1 |
| histogram or timer | `kafka_server_t_n{quantile="0.99"}`, `..._count` and `..._sum` |
| attribute `a-b` of a bean without `name` | `kafka_server_t_a_b`; counters end in `_total` |
| attribute `a-b` of `type=T,user=U,client-id=C` | `kafka_server_quota_a_b{resource="T",user="U",clientId="C"}` |
| other tags | labels of the same name; a tag that Kafka omits has no label |

Quantiles (0.5, 0.75, 0.95, 0.99, 0.999) cover the last five minutes and have an error of at most 6 %. Counts and sums
cover the time since the start of the broker.

BrokerTopicMetrics have one series without a topic for the whole broker, and one series per topic. A `sum` over all
series counts everything twice: select `{topic=""}` or `{topic!=""}`. The series of a topic disappear when the broker
no longer hosts any of its partitions.

"""


def _document() -> str:
    parts = [_HEAD, "| metric | kind | labels | meaning | JMX bean |\n| --- | --- | --- | --- | --- |\n"]
    parts += [_row(family) for family in METRICS]
    parts.append("\n## Kafka metrics that do not exist\n\n| beans | reason |\n| --- | --- |\n")
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
