"""The changes there are: one file each, with a `CHANGE`."""

from typing import Final

from barnabas.page.changes import (
    access_rule,
    add_partitions,
    create_topic,
    delete_group,
    delete_topic,
    elect_leaders,
    quota,
    reset_offsets,
    topic_setting,
)

CHANGES: Final = (
    create_topic.CHANGE,
    delete_topic.CHANGE,
    add_partitions.CHANGE,
    topic_setting.CHANGE,
    reset_offsets.CHANGE,
    delete_group.CHANGE,
    quota.CHANGE,
    access_rule.CHANGE,
    elect_leaders.CHANGE,
)
