"""ExplainQuotas: who may ask what, and what is answered."""

import json
from typing import Any

import pytest

from barnabas.broker.quotas.history import History
from barnabas.broker.requests.context import ConnectionInfo, RequestContext
from barnabas.broker.requests.handlers.explain_quotas import explain_quotas
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.wire.protocol.messages.explain_quotas import ExplainQuotasRequest, ExplainQuotasResponse
from barnabas.wire.quotas.entities import Entity
from barnabas.wire.quotas.limits import QuotaKind
from barnabas.wire.security.principals import Principal
from tests.unit.broker.requests.denying import Denies

ALICE = Principal("User", "alice")


class Asked:
    """A broker that alice asks with client id `importer`."""

    def __init__(self, data_path: Any) -> None:
        self.services = data_path.services
        self.services.quota_history = History()
        quotas = self.services.quotas
        quotas.set_override(Entity(None, "importer"), QuotaKind.PRODUCE, 1_000)
        for user in ("alice", "bob"):
            quotas.enter(user, "importer", 0).produced_bytes += 100
        self.services.quota_history.collect(1_600_000_001_005, quotas.clients.values())

    def ask(
        self, view: int, user: str | None = None, client_id: str | None = None, last_s: int = 10, port: int = 5_000
    ) -> ExplainQuotasResponse:
        info = ConnectionInfo("10.1.2.3", port, "PLAINTEXT", ALICE)
        ctx = RequestContext(self.services, info, "importer", 0, 1)
        answer = explain_quotas(ctx, ExplainQuotasRequest(view, user, client_id, last_s))
        found = answer.value if isinstance(answer, Pending) else answer
        assert isinstance(found, ExplainQuotasResponse)
        return found

    def told(self, *question: Any) -> Any:
        response = self.ask(*question)
        assert response.error_code == ErrorCode.NONE
        assert response.answer is not None
        return json.loads(response.answer)


@pytest.fixture
def asked(data_path: Any) -> Asked:
    return Asked(data_path)


def test_who_names_nobody_asks_about_himself(asked: Asked) -> None:
    told = asked.told(0)
    assert (told["user"], told["client_id"]) == ("alice", "importer")
    assert told["quotas"][0]["limit"] == 1_000


def test_somebody_else(asked: Asked) -> None:
    told = asked.told(0, "bob", "reader")
    assert (told["user"], told["client_id"], told["quotas"][0]["limit"]) == ("bob", "reader", None)


def test_those_who_pace_themselves_are_counted_while_they_say_so(asked: Asked, data_path: Any) -> None:
    def counts(view: int, last_s: int = 10, port: int = 5_000) -> list[int]:
        return [each["pacer_count"] for each in asked.told(view, None, None, last_s, port)["quotas"][:2]]

    assert counts(0) == [0, 0]
    # Of the limit alone that is kept to.
    assert counts(4, 5) == counts(4, 5) == [1]
    assert counts(4, 2**31 - 1, 5_001) == [2]
    assert counts(3, 5) == [1]
    assert counts(0) == [2, 1]
    data_path.clock.advance(5_000)
    assert counts(0) == [1, 0]
    assert counts(4, 0, 5_001) == [0]
    # No claim outlives its connection for long, whatever it asks for.
    assert counts(4, 2**31 - 1, 5_002) == [1]
    data_path.clock.advance(10_000)
    assert counts(0) == [0, 0]


def test_nobody_paces_others(asked: Asked) -> None:
    asked.services.authorizer = Denies()
    assert asked.ask(3, "bob").error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    (told,) = asked.told(3)["quotas"]
    assert (told["key"], told["pacer_count"]) == ("consumer_byte_rate", 1)


def test_top(asked: Asked) -> None:
    assert {each["user"] for each in asked.told(1)["clients"]} == {"alice", "bob"}


def test_what_was_recorded(asked: Asked) -> None:
    told = asked.told(2)
    assert {each["user"] for each in told["rings"]} == {"alice", "bob"}
    assert told["limits"] == [{"key": "producer_byte_rate", "path": "clients/importer", "limit": 1_000}]
    assert {each["user"] for each in asked.told(2, "bob")["rings"]} == {"bob"}


def test_without_any_right_a_user_may_ask_about_himself_and_sees_no_others(asked: Asked) -> None:
    denies = asked.services.authorizer = Denies()
    asked.services.quotas.enter("alice", "other", 0)
    for question in ((0,), (0, "alice"), (0, "alice", "other"), (0, None, "importer")):
        assert asked.told(*question)["user"] == "alice"
    quota = asked.told(0)["quotas"][0]
    assert [each["user"] for each in quota["sharers"]] == ["alice"]
    assert quota["sharer_count"] == 2
    # It is nothing that the authorizer's log should tell of.
    assert denies.denied == []


def test_without_the_right_nothing_is_told_of_what_is_measured_with_other_users(asked: Asked) -> None:
    quotas = asked.services.quotas
    quotas.record(QuotaKind.PRODUCE, "bob", "importer", 50_000, 0)
    everything = asked.told(0)["quotas"][0]
    assert (everything["is_measured"], everything["used_total"]) == (True, 200)
    asked.services.authorizer = Denies()
    told = asked.told(0)["quotas"][0]
    # What may hold her is hers to know.
    assert (told["limit"], told["level"], told["is_use_told"]) == (1_000, 7, False)
    assert (told["is_measured"], told["rate"], told["throttle_ms"], told["used_total"]) == (False, 0, 0, None)


def test_without_the_right_all_is_told_of_what_is_measured_of_the_user_alone(asked: Asked) -> None:
    quotas = asked.services.quotas
    quotas.set_override(Entity("alice", None), QuotaKind.PRODUCE, 2_000)
    quotas.record(QuotaKind.PRODUCE, "alice", "importer", 50_000, 0)
    asked.services.authorizer = Denies()
    told = asked.told(0)["quotas"][0]
    assert (told["limit"], told["is_use_told"], told["is_measured"], told["used_total"]) == (2_000, True, True, 100)


@pytest.mark.parametrize(
    "question",
    [
        (0, "alice", "of-bob"),
        (0, None, "of-bob"),
        (0, "bob"),
        (0, ""),
        (1,),
        (2,),
        (2, "alice"),
        (3, "bob"),
        (5,),
        (-1,),
    ],
)
def test_without_the_right_nothing_else_is_told(asked: Asked, question: tuple[Any, ...]) -> None:
    asked.services.authorizer = Denies()
    response = asked.ask(*question)
    assert (response.error_code, response.answer) == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None)
    assert asked.services.authorizer.denied == ["DESCRIBE_CONFIGS CLUSTER kafka-cluster"]


@pytest.mark.parametrize("view", [5, -1, 127])
def test_what_there_is_not(asked: Asked, view: int) -> None:
    response = asked.ask(view)
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert response.error_message == f"there is no view {view}"
