"""An authorizer that denies everything."""

from barnabas.wire.security.authorizer import NamedRequest, Operation, ResourceType
from barnabas.wire.security.principals import Principal


class Denies:
    """Nobody may do anything; notes what was asked."""

    allows_everything = False

    def __init__(self) -> None:
        self.denied: list[str] = []

    def may(
        self,
        principal: Principal,
        host: str,
        operation: Operation,
        resource_type: ResourceType,
        name: str,
        request: NamedRequest | None = None,
    ) -> bool:
        self.denied.append(f"{operation.name} {resource_type.name} {name}")
        return False

    def rights(self, principal: Principal, host: str, resource_type: ResourceType, name: str) -> int:
        return 0
