"""Administration of topics, offsets and groups in one object.

These are the subjects that programs need most. Each subject has a module of its own, `admin_<subject>.py`; a command
that needs one subject loads only that module.

Source: protocol guide; KIP-4.
"""

from barnabas.clients.admin_calls import EARLIEST, LATEST, retry
from barnabas.clients.admin_groups import GroupAdmin, GroupDescription, GroupMemberDescription
from barnabas.clients.admin_offsets import OffsetAdmin
from barnabas.clients.admin_topics import NewTopic, TopicAdmin

__all__ = ["EARLIEST", "LATEST", "Admin", "GroupDescription", "GroupMemberDescription", "NewTopic", "retry"]


class Admin(TopicAdmin, OffsetAdmin, GroupAdmin):
    """Administration of one cluster."""
