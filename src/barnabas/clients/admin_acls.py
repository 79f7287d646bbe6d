"""Administration of access rules (ACLs).

Source: protocol guide, DescribeAcls, CreateAcls, DeleteAcls; KIP-140, KIP-290.
"""

from collections.abc import Iterable, Sequence

from barnabas.clients.admin_calls import AdminCalls, raise_for
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import EncodeError, KafkaError
from barnabas.core.time_slices import in_time_slices
from barnabas.wire.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from barnabas.wire.security.acls import Binding, BindingFilter, Entry, Pattern, PatternType, Permission
from barnabas.wire.security.authorizer import Operation, ResourceType
from barnabas.wire.security.principals import parse_principal


class AclAdmin(AdminCalls):
    """Administration of access rules."""

    async def describe_acls(self, wanted: BindingFilter) -> list[Binding]:
        """Return the rules that a filter selects, in order. Raises KafkaError."""

        async def attempt() -> list[Binding]:
            channel = await self.pool.any_broker()
            patterns, entries = wanted
            request = DescribeAclsRequest(
                patterns.resource_type,
                patterns.name,
                patterns.pattern_type,
                entries.principal,
                entries.host,
                entries.operation,
                entries.permission,
            )
            try:
                response = await channel.send(request, DescribeAclsResponse)
            except EncodeError:
                raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "the broker supports only literal patterns") from None
            raise_for(response.error_code, response.error_message or ErrorCode(response.error_code).name)
            return sorted(
                [
                    _binding(
                        (each.resource_type, each.resource_name, each.pattern_type),
                        (acl.principal, acl.host, acl.operation, acl.permission_type),
                    )
                    async for each in in_time_slices(response.resources)
                    for acl in each.acls
                ]
            )

        return await self.retry(attempt)

    async def create_acls(self, bindings: Iterable[Binding]) -> None:
        """Create rules; existing ones are kept. Raises KafkaError for the first rule that is rejected."""
        from barnabas.wire.protocol.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse

        creations = [
            AclCreation(*pattern, str(entry.principal), entry.host, entry.operation, entry.permission)
            for pattern, entry in bindings
        ]

        async def attempt() -> None:
            channel = await self.pool.any_broker()
            response = await channel.send(CreateAclsRequest(creations), CreateAclsResponse)
            for result in response.results:
                raise_for(result.error_code, result.error_message or ErrorCode(result.error_code).name)

        await self.retry(attempt)

    async def delete_acls(self, filters: Sequence[BindingFilter]) -> list[Binding]:
        """Delete the rules that filters select. Returns the deleted rules in order; raises KafkaError."""
        from barnabas.wire.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse

        asked = [
            DeleteAclsFilter(
                patterns.resource_type,
                patterns.name,
                patterns.pattern_type,
                entries.principal,
                entries.host,
                entries.operation,
                entries.permission,
            )
            for patterns, entries in filters
        ]

        async def attempt() -> list[Binding]:
            channel = await self.pool.any_broker()
            response = await channel.send(DeleteAclsRequest(asked), DeleteAclsResponse)
            deleted = []
            for result in response.filter_results:
                raise_for(result.error_code, result.error_message or ErrorCode(result.error_code).name)
                for acl in result.matching_acls:
                    raise_for(acl.error_code, acl.error_message or ErrorCode(acl.error_code).name)
                    deleted.append(
                        _binding(
                            (acl.resource_type, acl.resource_name, acl.pattern_type),
                            (acl.principal, acl.host, acl.operation, acl.permission_type),
                        )
                    )
            return sorted(deleted)

        return await self.retry(attempt)


def _binding(pattern: tuple[int, str, int], entry: tuple[str, str, int, int]) -> Binding:
    """Convert a rule from a broker's response.

    Raises:
        KafkaError: The rule has a code that this version does not know.
    """
    resource_type, name, pattern_type = pattern
    principal, host, operation, permission = entry
    try:
        return Binding(
            Pattern(ResourceType(resource_type), name, PatternType(pattern_type)),
            Entry(parse_principal(principal), host, Operation(operation), Permission(permission)),
        )
    except ValueError as error:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"the access rule has an unknown form: {error}") from None
