"""The views: one file each, with a `VIEW`."""

from typing import Final

from barnabas.page.views import (
    access,
    brokers,
    client,
    clients,
    find,
    group,
    groups,
    overview,
    slow,
    topic,
    topics,
    transactions,
    try_limit,
)

VIEWS: Final = (
    overview.VIEW,
    topics.VIEW,
    topic.VIEW,
    groups.VIEW,
    group.VIEW,
    clients.VIEW,
    client.VIEW,
    try_limit.VIEW,
    transactions.VIEW,
    slow.VIEW,
    brokers.VIEW,
    access.VIEW,
    find.VIEW,
)
