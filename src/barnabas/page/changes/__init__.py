"""The available changes: one file each, with a `CHANGE`; settings are two."""

from typing import Final

from barnabas.page.changes import (
    abort_transaction,
    access_rule,
    add_partitions,
    create_topic,
    delete_group,
    delete_records,
    delete_topic,
    elect_leaders,
    quota,
    reset_offsets,
    setting,
    user,
)

CHANGES: Final = (
    create_topic.CHANGE,
    delete_topic.CHANGE,
    add_partitions.CHANGE,
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
