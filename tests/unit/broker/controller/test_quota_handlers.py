"""DescribeClientQuotas and AlterClientQuotas, and the partitions that a client may create and delete."""

import pytest

from barnabas.broker.requests.handlers import (
    alter_client_quotas,
    create_partitions,
    create_topics,
    delete_topics,
    describe_client_quotas,
)
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from barnabas.wire.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.wire.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from barnabas.wire.quotas.entities import Entity
from barnabas.wire.quotas.limits import MOST_LIMIT, QuotaKind
from barnabas.wire.registry.configs import change_config
from tests.unit.broker.controller.harness import Cluster
from tests.unit.broker.controller.test_admin_handlers import Client, play_with_client

pytestmark = pytest.mark.played(by=play_with_client)

E = ErrorCode
Parts = list[tuple[str, str | None]]


def entry(parts: Parts, **ops: float | None) -> AlterClientQuotasRequestEntryData:
    return AlterClientQuotasRequestEntryData(
        [EntityData(kind, name) for kind, name in parts],
        [OpData(key, value or 0.0, value is None) for key, value in ops.items()],
    )


async def alter(client: Client, *entries: AlterClientQuotasRequestEntryData, validate_only: bool = False):
    request = AlterClientQuotasRequest(list(entries), validate_only)
    answer = await client.ask(alter_client_quotas.HANDLER, 0, request)
    return [(each.error_code, each.error_message) for each in answer.entries]


async def describe(client: Client, *components: tuple[str, int, str | None], strict: bool = False):
    request = DescribeClientQuotasRequest([ComponentData(*each) for each in components], strict)
    answer = await client.ask(describe_client_quotas.HANDLER, 0, request)
    if answer.error_code:
        return answer.error_code
    return {
        tuple((part.entity_type, part.entity_name) for part in each.entity): {v.key: v.value for v in each.values}
        for each in answer.entries
    }


USER: Parts = [("user", "u v")]
DEFAULT_USER: Parts = [("user", None)]
CLIENT: Parts = [("client-id", "c")]
DEFAULT_CLIENT: Parts = [("client-id", None)]
LEVELS: list[Parts] = [
    USER + CLIENT, USER + DEFAULT_CLIENT, USER, DEFAULT_USER + CLIENT, DEFAULT_USER + DEFAULT_CLIENT, DEFAULT_USER,
    CLIENT, DEFAULT_CLIENT,
]  # fmt: skip


async def test_every_kind_is_set_listed_and_removed_at_every_level(cluster: Cluster, client: Client, /) -> None:
    limits = {
        "producer_byte_rate": 1_000.0,
        "consumer_byte_rate": 2e9,
        "request_percentage": 12.5,
        "controller_mutation_rate": 0.1,
    }
    assert await alter(client, *(entry(level, **limits) for level in LEVELS)) == [(0, None)] * 8
    assert await describe(client) == {tuple(level): limits for level in LEVELS}
    assert await alter(client, *(entry(level, consumer_byte_rate=None) for level in LEVELS)) == [(0, None)] * 8
    del limits["consumer_byte_rate"]
    assert await describe(client) == {tuple(level): limits for level in LEVELS}
    assert await alter(client, *(entry(level, **dict.fromkeys(limits)) for level in LEVELS)) == [(0, None)] * 8
    assert await describe(client) == {}


async def test_kafkas_number_for_no_limit_can_be_set(cluster: Cluster, client: Client, /) -> None:
    limits = dict.fromkeys((kind.key for kind in QuotaKind), float(MOST_LIMIT))
    assert await alter(client, entry(USER, **limits)) == [(0, None)]
    assert await describe(client) == {tuple(USER): limits}


@pytest.mark.parametrize(
    ("components", "strict", "expected"),
    [
        ([("user", 0, "u v")], False, [0, 1, 2]),
        ([("user", 0, "u v")], True, [2]),
        ([("user", 1, None)], False, [3, 4, 5]),
        ([("user", 2, None)], False, [0, 1, 2, 3, 4, 5]),
        ([("user", 2, None)], True, [2, 5]),
        ([("client-id", 0, "c")], False, [0, 3, 6]),
        ([("client-id", 1, None)], True, [7]),
        ([("client-id", 2, None)], True, [6, 7]),
        ([("user", 0, "u v"), ("client-id", 0, "c")], True, [0]),
        ([("user", 2, None), ("client-id", 1, None)], False, [1, 4]),
        ([("user", 0, "nobody")], False, []),
        ([], True, []),
    ],
)
async def test_a_filter_lets_through_what_it_names(
    cluster: Cluster, client: Client, /, components, strict: bool, expected: list[int]
) -> None:
    await alter(client, *(entry(level, producer_byte_rate=1.0) for level in LEVELS))
    await change_config(cluster.registry, "users/scram", {"SCRAM-SHA-256": "x"})
    found = await describe(client, *components, strict=strict)
    assert set(found) == {tuple(LEVELS[number]) for number in expected}


@pytest.mark.parametrize(
    ("components", "error_code"),
    [
        ([("", 2, None)], E.INVALID_REQUEST),
        ([("ip", 2, None)], E.UNSUPPORTED_VERSION),
        ([("user", 3, None)], E.UNSUPPORTED_VERSION),
        ([("user", 2, None), ("user", 1, None)], E.INVALID_REQUEST),
    ],
)
async def test_a_filter_that_cannot_be_is_refused(
    cluster: Cluster, client: Client, /, components, error_code: ErrorCode
) -> None:
    assert await describe(client, *components) == error_code


@pytest.mark.parametrize(
    ("parts", "ops"),
    [
        ([], {"producer_byte_rate": 1.0}),
        ([("", "x")], {"producer_byte_rate": 1.0}),
        ([("ip", "x")], {"producer_byte_rate": 1.0}),
        ([("user", "")], {"producer_byte_rate": 1.0}),
        (USER, {"producer_byte_rate": 1.5}),
        (USER, {"producer_byte_rate": -1.0}),
        (USER, {"request_percentage": float("nan")}),
        (USER, {"request_percentage": float("inf")}),
        (USER, {"nonsense": 1.0}),
        (USER, {"request_percentage": 3.0, "nonsense": 1.0}),
    ],
)
async def test_what_cannot_be_changes_nothing(cluster: Cluster, client: Client, /, parts: Parts, ops: dict[str, float]):
    await alter(client, entry(USER, producer_byte_rate=7.0))
    (wrong, right) = await alter(client, entry(parts, **ops), entry(CLIENT, producer_byte_rate=8.0))
    assert wrong[0] == E.INVALID_REQUEST
    assert wrong[1]
    assert right == (0, None)
    assert await describe(client) == {
        tuple(USER): {"producer_byte_rate": 7.0},
        tuple(CLIENT): {"producer_byte_rate": 8.0},
    }


async def test_checking_alone_changes_nothing_and_credentials_stay(cluster: Cluster, client: Client, /) -> None:
    assert await alter(client, entry(USER, producer_byte_rate=7.0), validate_only=True) == [(0, None)]
    assert await describe(client) == {}
    await change_config(cluster.registry, "users/u%20v", {"SCRAM-SHA-256": "x", "producer_byte_rate": "9"})
    ops = {"SCRAM-SHA-256": None, "producer_byte_rate": None}
    assert await alter(client, entry(USER, **ops)) == [(0, None)]
    data, _ = await cluster.registry.get("/config/users/u%20v")
    assert data is not None
    assert b'"config":{"SCRAM-SHA-256":"x"}' in data


@pytest.mark.parametrize("is_strict", [False, True])
async def test_partitions_beyond_the_quota_are_refused_or_their_client_held(
    cluster: Cluster, client: Client, /, is_strict: bool
) -> None:
    quotas = client.services.quotas
    quotas.set_override(Entity(None, "client"), QuotaKind.CONTROLLER_MUTATION, 1)

    async def create(name: str, count: int, **options: bool) -> int:
        request = CreateTopicsRequest([CreatableTopic(name, count, 1)], 1_000, **options)
        (topic,) = (await client.ask(create_topics.HANDLER, 6 if is_strict else 5, request)).topics
        return topic.error_code

    async def lengthen(name: str, count: int) -> int:
        request = CreatePartitionsRequest([CreatePartitionsTopic(name, count, None)], 1_000)
        (result,) = (await client.ask(create_partitions.HANDLER, 3 if is_strict else 2, request)).results
        return result.error_code

    async def delete(name: str) -> int:
        request = DeleteTopicsRequest(topic_names=[name], timeout_ms=1_000)
        (result,) = (await client.ask(delete_topics.HANDLER, 5 if is_strict else 4, request)).responses
        return result.error_code

    refused = E.THROTTLING_QUOTA_EXCEEDED if is_strict else E.NONE
    # Eleven at once; to look whether it could be costs nothing.
    assert await create("a", 1_000, validate_only=True) == E.NONE
    assert await create("a", 6) == E.NONE
    assert await lengthen("a", 8) == E.NONE
    assert client.throttle_time_ms == 0
    assert await create("b", 4) == E.NONE
    assert client.throttle_time_ms == (0 if is_strict else 1_000)
    assert await create("c", 1) == refused
    assert client.throttle_time_ms == (1_000 if is_strict else 2_000)
    assert await lengthen("a", 9) == refused
    assert await delete("b") == refused
    assert client.throttle_time_ms == (1_000 if is_strict else 7_000)
    # What was refused was not done, and what fails for another reason costs nothing.
    assert await create("a", 1) == E.TOPIC_ALREADY_EXISTS
    assert cluster.view.image.partition_count("a") == (8 if is_strict else 9)
    assert (cluster.view.image.partition_count("b") > 0) is is_strict
