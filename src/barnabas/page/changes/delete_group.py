"""Delete a group and its offsets."""

from typing import Final

from barnabas.clients.admin import Admin
from barnabas.core.advised_commands import command
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import BarnabasError, KafkaError
from barnabas.explain.formatting import count
from barnabas.page.changes.change import Change, Field, Plan, Row, needed
from barnabas.page.view import Asked

_GROUP: Final = Field("group", "Group")


async def preview(asked: Asked) -> Plan:
    """Read the group."""
    name, admin = needed(asked, _GROUP), asked.cluster.admin(Admin)
    group = await admin.describe_group(name)
    if group.state == "Dead":
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"group {name} does not exist")
    if group.members:
        raise BarnabasError(f"group {name} has {count(len(group.members), 'member')}: stop its consumers first")
    committed = await admin.committed_offsets(name)

    async def carry_out() -> str:
        await admin.delete_group(name)
        return f"Group {name} was deleted."

    return Plan(
        (Row(f"group {name}", f"{group.state}, {count(len(committed), 'committed offset')}", "is gone"),),
        command("groups", "--delete", ("--group", name)),
        carry_out,
        loses="The group's offsets are lost.",
        name=name,
    )


CHANGE = Change("/change/delete-group", "Delete a group", (_GROUP,), preview)
