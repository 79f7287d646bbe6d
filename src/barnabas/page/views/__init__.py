"""The pages there are: one file each, with a `VIEW`."""

from typing import Final

from barnabas.page.views import group, groups, overview, topic, topics

VIEWS: Final = (overview.VIEW, topics.VIEW, topic.VIEW, groups.VIEW, group.VIEW)
