"""What a controller writes, once another one was elected."""

import pytest

from barnabas.broker.controller.epoch_guard import ControllerMovedError, write_as_controller
from barnabas.wire.registry import paths
from barnabas.wire.registry.store import CreateOp, NodeExistsError
from tests.unit.memory_registry import memory_registry


async def test_who_was_replaced_writes_nothing() -> None:
    registry = await memory_registry()
    await registry.create(paths.CONTROLLER_EPOCH, b"1")
    assert await write_as_controller(registry, 0, [CreateOp("/mine", b"")]) == ["/mine"]
    # What is refused for another reason is told as it is.
    with pytest.raises(NodeExistsError):
        await write_as_controller(registry, 0, [CreateOp("/mine", b"")])
    await registry.set(paths.CONTROLLER_EPOCH, b"2")
    with pytest.raises(ControllerMovedError):
        await write_as_controller(registry, 0, [CreateOp("/late", b"")])
    assert await registry.exists("/late") is None
    await registry.delete(paths.CONTROLLER_EPOCH)
    with pytest.raises(ControllerMovedError):
        await write_as_controller(registry, 1, [CreateOp("/later", b"")])
