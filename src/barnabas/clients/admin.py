"""Topics, offsets and groups, asked for and changed, by one object.

What a program needs most. Each subject is a module of its own, `admin_<subject>.py`; a command that is about one
of them loads that one alone.

Source: protocol guide; KIP-4.
"""

from barnabas.clients.admin_calls import EARLIEST, LATEST, retry
from barnabas.clients.admin_groups import GroupAdmin, GroupDescription, GroupMemberDescription
from barnabas.clients.admin_offsets import OffsetAdmin
from barnabas.clients.admin_topics import NewTopic, TopicAdmin

__all__ = ["EARLIEST", "LATEST", "Admin", "GroupDescription", "GroupMemberDescription", "NewTopic", "retry"]


class Admin(TopicAdmin, OffsetAdmin, GroupAdmin):
    """Administration of one cluster."""
