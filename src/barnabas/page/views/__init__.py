"""The pages there are: one file each, with a `VIEW`."""

from typing import Final

from barnabas.page.views import group, groups, overview, topics

VIEWS: Final = (overview.VIEW, topics.VIEW, groups.VIEW, group.VIEW)
