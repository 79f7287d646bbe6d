"""What becomes of transactions."""

import pytest

from barnabas.clients.transaction_log import TransactionState, TransactionStatus
from barnabas.explain.finding import Certainty, Severity
from barnabas.explain.rules.transaction import explain_transaction
from barnabas.explain.snapshot import OpenTransaction
from tests.unit.explain.worlds import MINUTE_MS, NOW_MS, VIEWS, of, snapshot, verdicts

OPENED = OpenTransaction(VIEWS[0], 7, 0, 600, NOW_MS - 2 * MINUTE_MS, is_hanging=False)


def state(status=TransactionStatus.Ongoing, timeout_ms=600_000):
    return {
        "pay": TransactionState(
            "pay", 3, 7, 0, timeout_ms, status, [VIEWS[0]], NOW_MS - MINUTE_MS, NOW_MS - 2 * MINUTE_MS
        )
    }


def aborted(reason="timeout", **more):
    row = {"transactional_id": "pay", "outcome": "aborted", "reason": reason, "count": 1, "client_id": "p"}
    row |= {"host": "/10.0.0.9", "at_ms": NOW_MS - 1_000, "began_ms": NOW_MS - 61_000, "markers_owed": 0}
    return {**row, "broker_id": 1, **more}


def test_a_transaction_that_is_open_for_long_is_a_problem_and_says_whose_it_is() -> None:
    facts = {"transactions": [{"transactional_id": "pay", "outcome": "open", "client_id": "p", "host": "/10.0.0.9"}]}
    found = explain_transaction(snapshot(open_transactions=[OPENED], transactional_ids=state(), facts=facts))
    assert verdicts(found) == ["open"]
    assert found[0].severity is Severity.PROBLEM
    assert found[0].text.startswith("transactional id pay of p at /10.0.0.9 has a transaction open for 2.0 min")
    assert found[0].figures["ends_in_ms"] == 8 * MINUTE_MS


def test_one_whose_timeout_is_over_is_about_to_end() -> None:
    found = explain_transaction(snapshot(open_transactions=[OPENED], transactional_ids=state(timeout_ms=1_000)))
    assert found[0].text.endswith("its timeout is over, and its coordinator is about to end it")


@pytest.mark.parametrize("timeout_ms", [1_000, 600_000])
@pytest.mark.parametrize("status", [TransactionStatus.PrepareCommit, TransactionStatus.PrepareAbort])
def test_one_that_is_being_ended_says_so_and_has_no_timeout(status: TransactionStatus, timeout_ms: int) -> None:
    prepared = state(status, timeout_ms)
    (found,) = explain_transaction(snapshot(open_transactions=[OPENED], transactional_ids=prepared))
    assert f"; it is {status.name}, so its outcome is decided" in found.text
    assert "aborts it" not in found.text
    assert "timeout" not in found.text
    assert "ends_in_ms" not in found.figures


def test_one_that_hangs_is_urgent() -> None:
    found = explain_transaction(snapshot(open_transactions=[OPENED._replace(is_hanging=True)]))
    assert verdicts(found) == ["hanging"]
    assert found[0].severity is Severity.URGENT


def test_whose_transaction_it_is_may_be_unknown() -> None:
    (found,) = explain_transaction(snapshot(open_transactions=[OPENED]))
    assert (found.verdict, found.certainty) == ("open", Certainty.UNKNOWN)


@pytest.mark.parametrize(
    ("reason", "text", "severity"),
    [
        ("producer", "its producer aborted it by p at /10.0.0.9", Severity.FINE),
        ("timeout", "its producer did not end it within transaction.timeout.ms", Severity.NOTICE),
        ("newer_producer", "a newer producer took its transactional id by p", Severity.NOTICE),
    ],
)
def test_why_it_was_aborted(reason: str, text: str, severity: Severity) -> None:
    found = explain_transaction(snapshot(facts={"transactions": [aborted(reason)]}))
    assert verdicts(found) == [f"aborted-{reason.replace('_', '-')}"]
    assert text in found[0].text
    assert found[0].text.endswith("60.0 s after it began")
    assert found[0].severity is severity


def test_aborts_are_counted_and_markers_that_are_owed_are_a_problem() -> None:
    rows = [aborted(count=3, at_ms=NOW_MS - 2_000), aborted("newer_producer", markers_owed=2)]
    (found,) = explain_transaction(snapshot(facts={"transactions": rows}))
    assert "was aborted 4 times" in found.text
    assert "2 markers of it could not be written yet" in found.text
    assert (found.severity, found.figures["timeout_count"]) == (Severity.PROBLEM, 3)


def test_of_one_id_its_last_state_is_told_and_why_it_was_aborted_is_unknown_where_nobody_keeps_it() -> None:
    world = snapshot(name="pay", transactional_ids=state(TransactionStatus.CompleteAbort), reporters=set())
    found = explain_transaction(world)
    assert verdicts(found) == ["last-state", "unknown"]
    assert of(found, "unknown").certainty is Certainty.UNKNOWN


def test_an_id_that_nobody_knows() -> None:
    assert verdicts(explain_transaction(snapshot(name="other", transactional_ids=state()))) == ["not-known"]
