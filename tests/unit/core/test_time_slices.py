"""Others have the loop between many items."""

import asyncio

from barnabas.core.time_slices import in_time_slices


async def test_all_items_come_in_order_and_others_have_the_loop_between_them() -> None:
    seen: list[object] = []
    asyncio.get_running_loop().call_soon(seen.append, "another")
    async for number in in_time_slices(range(5), 2):
        seen.append(number)
    assert seen == [0, 1, "another", 2, 3, 4]
