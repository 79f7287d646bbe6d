"""A soak takes for a bug of Kafka's only what the log of Kafka shows."""

from tests.cluster_soak.kafka_bugs import endless_loads

STARTING = "[2026-11-26 12:00:00,000] INFO starting (kafka.server.KafkaServer)"


def loading(partition: str, epoch: int) -> str:
    return (
        f"[2026-11-26 12:00:01,000] INFO [Transaction State Manager 2]: Loading transaction metadata from {partition} "
        f"at epoch {epoch} (kafka.coordinator.transaction.TransactionStateManager)"
    )


def completed(partition: str, epoch: int) -> str:
    return (
        "[2026-11-26 12:00:02,000] INFO [Transaction State Manager 2]: Completed loading transaction metadata from "
        f"{partition} for coordinator epoch {epoch} (kafka.coordinator.transaction.TransactionStateManager)"
    )


def test_a_load_that_was_given_up_before_a_later_one_is_found() -> None:
    given_up, loaded, completion = loading("t-0", 6), loading("t-0", 10), completed("t-0", 10)
    assert endless_loads("\n".join([STARTING, given_up, loaded, completion])) == [f"{given_up}\n{completion}"]


def test_what_is_complete_or_may_be_soon_is_none() -> None:
    pairs = [loading("t-0", 6), completed("t-0", 6), loading("t-0", 10), completed("t-0", 10)]
    assert endless_loads("\n".join([STARTING, *pairs])) == []
    assert endless_loads("\n".join([STARTING, *pairs, loading("t-0", 12)])) == []
    assert endless_loads("\n".join([STARTING, *pairs, loading("t-1", 6)])) == []


def test_a_start_forgets_it() -> None:
    assert endless_loads("\n".join([loading("t-0", 6), STARTING, loading("t-0", 10), completed("t-0", 10)])) == []
