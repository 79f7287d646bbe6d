"""All APIs that this broker serves: one module each, in the order of their keys.

What ApiVersions offers, what the README's table says and what is routed come from this one tuple.
"""

from barnabas.requests.handlers import (
    api_versions,
    create_partitions,
    create_topics,
    delete_groups,
    delete_records,
    delete_topics,
    describe_configs,
    describe_groups,
    fetch,
    find_coordinator,
    heartbeat,
    init_producer_id,
    join_group,
    leave_group,
    list_groups,
    list_offsets,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    sync_group,
    txn_offset_commit,
)
from barnabas.requests.table import Handler

HANDLERS: tuple[Handler, ...] = (
    produce.HANDLER,
    fetch.HANDLER,
    list_offsets.HANDLER,
    metadata.HANDLER,
    offset_commit.HANDLER,
    offset_fetch.HANDLER,
    find_coordinator.HANDLER,
    join_group.HANDLER,
    heartbeat.HANDLER,
    leave_group.HANDLER,
    sync_group.HANDLER,
    describe_groups.HANDLER,
    list_groups.HANDLER,
    api_versions.HANDLER,
    create_topics.HANDLER,
    delete_topics.HANDLER,
    delete_records.HANDLER,
    init_producer_id.HANDLER,
    offset_for_leader_epoch.HANDLER,
    txn_offset_commit.HANDLER,
    describe_configs.HANDLER,
    create_partitions.HANDLER,
    delete_groups.HANDLER,
    offset_delete.HANDLER,
)
