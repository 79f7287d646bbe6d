"""The available changes: one file each, with a `CHANGE`; three for topics, two for settings."""

from typing import Final

from barnabas.page.changes import (
    abort_transaction,
    access_rule,
    delete_group,
    delete_records,
    elect_leaders,
    quota,
    reset_offsets,
    setting,
    topics,
    user,
)

CHANGES: Final = (
    topics.CREATE,
    topics.DELETE,
    topics.ADD_PARTITIONS,
    setting.TOPIC,
    setting.BROKER,
    delete_records.CHANGE,
    reset_offsets.CHANGE,
    delete_group.CHANGE,
    quota.CHANGE,
    access_rule.CHANGE,
    user.CHANGE,
    abort_transaction.CHANGE,
    elect_leaders.CHANGE,
)
