"""Queries for configuration: settings of topics, and quotas."""

from typing import Final

from barnabas.clients.admin_configs import ConfigAdmin, ConfigResource, ConfigSource, ResourceType
from barnabas.clients.admin_quota_states import QuotaStateAdmin, by_level
from barnabas.explain.queries import MOST_READ, Queries
from barnabas.explain.snapshot import Setting

_WHERE: Final = {
    ConfigSource.DYNAMIC_TOPIC_CONFIG: "topic",
    ConfigSource.DYNAMIC_BROKER_CONFIG: "broker",
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG: "all brokers",
    ConfigSource.STATIC_BROKER_CONFIG: "the broker's file",
    ConfigSource.DEFAULT_CONFIG: "default",
}


async def read_settings(queries: Queries) -> None:
    """Read the settings of topics in the scope, topics that have problems, or topics that use the most space."""
    snapshot = queries.snapshot
    sizes: dict[str, int] = {}
    for directory in snapshot.directories:
        for name, size in directory.logs.items():
            sizes[name.topic] = sizes.get(name.topic, 0) + size
    assert snapshot.cluster is not None
    there = {each.name.topic for each in snapshot.cluster.partitions}
    lacking = {each.name.topic for each in snapshot.cluster.partitions if len(each.isr) < len(each.replicas)}
    largest = sorted(sizes, key=lambda topic: -sizes[topic])[:MOST_READ]
    wanted = (
        [queries.snapshot.scope.name] if queries.snapshot.scope.name in there else sorted({*lacking, *largest} & there)
    )
    resources = [ConfigResource(ResourceType.TOPIC, str(topic)) for topic in wanted]
    if not resources:
        return
    describing = queries.admin(ConfigAdmin).describe_configs(resources, include_synonyms=False)
    found = await queries.attempt("settings", describing)
    for resource, entries in (found or {}).items():
        snapshot.settings[resource.name] = {
            each.name: Setting(each.value, _WHERE.get(each.source, "unknown"))
            for each in entries
            if each.value is not None
        }


async def read_quotas(queries: Queries) -> None:
    """Read all quotas."""
    limits = await queries.attempt("limits", queries.admin(QuotaStateAdmin).limits()) or {}
    queries.snapshot.configured_quotas = {limited.entity: values for limited, values in by_level(limits.items())}
