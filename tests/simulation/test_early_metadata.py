"""Who has just started, and becomes the controller, tells its clients of all partitions or of none."""

import asyncio

import pytest

from barnabas.clients.admin import Admin, NewTopic
from barnabas.clients.pool import Pool
from barnabas.core.errors import KafkaError
from barnabas.testing.simulation.world import PORT, Simulation
from tests.simulation.cluster import SETTINGS

SEED_COUNT = 5
# Some have no replica that lives.
ASSIGNMENTS = {0: [1], 1: [2], 2: [1], 3: [2]}


@pytest.mark.parametrize("seed", range(SEED_COUNT))
def test_a_topic_is_told_of_with_all_its_partitions(seed: int) -> None:
    simulation = Simulation(seed)
    ensemble = simulation.add_ensemble(3)
    first, second = (
        simulation.add_broker(f"b{number}", {**SETTINGS, "broker.id": str(number)}, ensemble) for number in (1, 2)
    )

    async def ask_second() -> set[int]:
        async with Pool(f"b2:{PORT}", env=simulation.client("reader")) as pool:
            metadata = await pool.metadata(None)
            return set(metadata.topics["t"].partitions) if "t" in metadata.topics else set()

    async def story() -> None:
        first.start()
        await asyncio.sleep(5)
        second.start()
        await asyncio.sleep(5)
        async with Pool(f"b1:{PORT},b2:{PORT}", env=simulation.client("admin")) as pool:
            await Admin(pool).create_topic(NewTopic("t", assignments=ASSIGNMENTS))
        second.kill()
        await asyncio.sleep(10)
        first.kill()
        # For a while the first one is the controller that says nothing.
        second.start()
        while True:
            try:
                assert await ask_second() == set(ASSIGNMENTS)
                return
            except KafkaError:
                # It does not listen yet.
                await asyncio.sleep(0.01)

    simulation.run(story())
