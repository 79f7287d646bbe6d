"""Transactions, of clusters that were made up."""

from barnabas.clients.transaction_log import TransactionState, TransactionStatus
from barnabas.core.internal_topics import TRANSACTION_STATE_TOPIC
from barnabas.core.types import TopicPartition
from barnabas.explain.snapshot import OpenTransaction
from barnabas.page.views.transactions import EndRow, IdRow, OpenRow, end_rows, id_rows, open_rows
from tests.unit.explain.worlds import MINUTE_MS, NOW_MS, VIEWS, partition, snapshot

BEGAN_MS = NOW_MS - 2 * MINUTE_MS
OPENED = OpenTransaction(VIEWS[0], 7, 1, 600, BEGAN_MS, is_hanging=False)
PAY = TransactionState("pay", 3, 7, 1, 600_000, TransactionStatus.Ongoing, [VIEWS[0]], NOW_MS, BEGAN_MS)


def test_what_is_open_says_whose_it_is_and_when_it_ends() -> None:
    hanging = OpenTransaction(VIEWS[1], 8, 0, 5, BEGAN_MS, is_hanging=True)
    decided = OPENED._replace(producer_id=9)
    committed = PAY._replace(transactional_id="paid", producer_id=9, status=TransactionStatus.PrepareCommit)
    ids = {"pay": PAY, "paid": committed}
    world = snapshot(open_transactions=[OPENED, hanging, decided], transactional_ids=ids)
    assert list(open_rows(world)) == [
        OpenRow(VIEWS[0], 600, "pay", 7, 1, BEGAN_MS, BEGAN_MS + 600_000, False),
        OpenRow(VIEWS[1], 5, "", 8, 0, BEGAN_MS, None, True),
        OpenRow(VIEWS[0], 600, "paid", 9, 1, BEGAN_MS, None, False),
    ]


def test_what_ended_says_why() -> None:
    row = {
        "transactional_id": "pay",
        "outcome": "aborted",
        "reason": "timeout",
        "count": 2,
        "first_ms": BEGAN_MS,
        "at_ms": NOW_MS,
        "began_ms": BEGAN_MS,
        "client_id": None,
        "host": None,
        "markers_owed": 1,
    }
    world = snapshot(
        facts={"transactions": [row, {**row, "outcome": "open"}, {**row, "at_ms": NOW_MS - 100 * MINUTE_MS}]}
    )
    why = "its producer did not end it within transaction.timeout.ms"
    assert list(end_rows(world)) == [EndRow("pay", "aborted", why, 2, BEGAN_MS, NOW_MS, 2 * MINUTE_MS, "", "", 1)]


def test_an_id_says_who_coordinates_it() -> None:
    log = partition(TopicPartition(TRANSACTION_STATE_TOPIC, 3), leader_id=2)
    assert list(id_rows(snapshot(log, transactional_ids={"pay": PAY}))) == [IdRow("pay", 2, 7, 1, "Ongoing", 1, NOW_MS)]
    assert [each.coordinator_id for each in id_rows(snapshot(transactional_ids={"pay": PAY}))] == [None]
