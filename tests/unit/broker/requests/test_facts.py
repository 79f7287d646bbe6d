"""Facts: who may ask for what, and what is told."""

import json
from importlib.resources import files
from itertools import takewhile
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.broker.diagnostics.series import TICK_MS
from barnabas.broker.diagnostics.store import DiagnosticStore
from barnabas.broker.groups.group import CommittedOffset, Group, GroupSettings
from barnabas.broker.requests.context import ConnectionInfo, RequestContext
from barnabas.broker.requests.diagnostic_query import DiagnosticQuery
from barnabas.broker.requests.diagnostic_subjects import SUBJECTS
from barnabas.broker.requests.handlers.facts import facts
from barnabas.broker.requests.slices import MORE
from barnabas.core.error_code import ErrorCode
from barnabas.core.pending import Pending
from barnabas.core.types import TopicPartition
from barnabas.explain.answers import complaints
from barnabas.wire.protocol.messages.facts import FactsRequest, FactsResponse
from barnabas.wire.security.authorizer import Operation, ResourceType
from barnabas.wire.security.principals import Principal
from tests.unit.broker.requests.conftest import batch
from tests.unit.broker.requests.denying import Denies

ALICE = Principal("User", "alice")


class MayDescribe(Denies):
    """Alice may describe topics that begin with `her-`, and nothing else."""

    def rights(self, principal: Principal, host: str, resource_type: ResourceType, name: str) -> int:
        return 1 << Operation.DESCRIBE if name.startswith("her-") else 0


class Asked:
    """A broker that alice asks with client id `app`."""

    def __init__(self, data_path: Any) -> None:
        self.data_path = data_path
        self.services = data_path.services
        self.kept = self.services.diagnostics = DiagnosticStore(25_000_000, 0)

    def ask(self, subject: str, names: list[str] | None = None, since_ms: int = -1) -> FactsResponse:
        info = ConnectionInfo("10.1.2.3", 5_000, "PLAINTEXT", ALICE)
        ctx = RequestContext(self.services, info, "app", 0, 1)
        answer = facts(ctx, FactsRequest(subject, names, since_ms))
        if isinstance(answer, Pending):
            self.data_path.run_due()
            answer = answer.value
        assert isinstance(answer, FactsResponse)
        return answer

    def told(self, subject: str, names: list[str] | None = None, since_ms: int = -1) -> Any:
        response = self.ask(subject, names, since_ms)
        assert response.error_code == ErrorCode.NONE
        assert response.answer is not None
        whole = json.loads(response.answer)
        assert set(whole) == {"broker_id", "now_ms", "kept_since_ms", "left_out", subject}
        return whole


@pytest.fixture
def asked(data_path: Any) -> Asked:
    return Asked(data_path)


def test_what_is_nobodys_subject(asked: Asked) -> None:
    response = asked.ask("nonsense")
    assert (response.error_code, response.error_message) == (ErrorCode.INVALID_REQUEST, "there is no subject nonsense")


def test_events_are_chosen_by_name_and_time(asked: Asked) -> None:
    for number, client_id in enumerate(("app", "other", "app")):
        asked.kept.requests.add({"at_ms": number, "api": "Produce", "user": "alice", "client_id": client_id})
    assert [each["at_ms"] for each in asked.told("requests")["requests"]] == [0, 1, 2]
    assert [each["at_ms"] for each in asked.told("requests", ["app"])["requests"]] == [0, 2]
    assert [each["at_ms"] for each in asked.told("requests", ["app"], 1)["requests"]] == [2]
    assert asked.told("requests", [])["requests"] == []


def test_a_thousand_rows_at_the_most_are_told(asked: Asked) -> None:
    for number in range(1_100):
        asked.kept.requests.add({"at_ms": number, "user": "alice", "client_id": "app"})
    told = asked.told("requests")
    assert (len(told["requests"]), told["requests"][0]["at_ms"], told["left_out"]) == (1_000, 100, 100)


def test_one_may_always_ask_about_oneself(asked: Asked) -> None:
    asked.services.authorizer = MayDescribe()
    for user, client_id in (("alice", "app"), ("alice", "other"), ("bob", "app")):
        row = asked.kept.throttles.note((user, client_id, "producer_byte_rate"), 5)
        row.update(user=user, client_id=client_id, quota="producer_byte_rate")
        asked.kept.requests.add({"at_ms": 5, "user": user, "client_id": client_id})
    (told,) = asked.told("client")["client"]
    assert (told["user"], told["client_id"], told["refusals"]) == ("alice", "app", [])
    assert [(each["user"], each["client_id"]) for each in (*told["holds"], *told["requests"])] == [("alice", "app")] * 2
    assert asked.services.authorizer.denied == []


def test_answers_that_leave_something_out_as_they_may_not_be_larger_are_counted(asked: Asked) -> None:
    asked.data_path.create("t")
    for _ in range(3):
        asked.data_path.produce("t", batch(1))
    size = len(batch(1))
    asked.data_path.fetch("t", max_bytes=size)
    asked.data_path.fetch("t", max_bytes=size + 5)
    asked.data_path.fetch("t", total=size)
    # Of those nothing is left out.
    asked.data_path.fetch("t", 2, max_bytes=size)
    asked.data_path.fetch("t")
    told = asked.told("full_answers")["full_answers"]
    assert [(each["setting"], each["most_bytes"], each["count"]) for each in told] == [
        ("max.partition.fetch.bytes", size + 5, 2),
        ("fetch.max.bytes", size, 1),
    ]
    schema = json.loads(files("barnabas.explain").joinpath("facts.json").read_text())
    for row in told:
        assert complaints(row, schema["$defs"]["full_answers"], schema["$defs"]) == []


@pytest.mark.parametrize("subject", ["ends", "leaders", "requests", "holds", "full_answers", "refusals", "stalls"])
def test_who_may_not_describe_the_cluster_can_not_ask_for_all(asked: Asked, subject: str) -> None:
    asked.services.authorizer = MayDescribe()
    assert asked.ask(subject).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert asked.services.authorizer.denied == ["DESCRIBE CLUSTER kafka-cluster"]


def test_of_what_one_names_one_is_told_what_one_may_see(asked: Asked) -> None:
    for topic in ("her-topic", "secret"):
        asked.data_path.create(topic)
        asked.kept.leaders.add({"at_ms": 1, "topic": topic, "partition": 0})
    asked.services.authorizer = MayDescribe()
    for subject in ("ends", "leaders"):
        told = asked.told(subject, ["her-topic", "secret"])
        assert [each["topic"] for each in told[subject]] == ["her-topic"]
        assert told["left_out"] == 1
    # Client ids are nobody's resources.
    assert asked.ask("requests", ["app"]).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_commits_for_topics_that_one_may_not_see_are_omitted(asked: Asked) -> None:
    group = Group("her-group", GroupSettings())
    group.offsets = {TopicPartition(topic, 0): CommittedOffset(5) for topic in ("her-topic", "secret")}
    asked.services.groups = SimpleNamespace(groups=[group], describe=lambda group_id: (ErrorCode.NONE, group))
    (row,) = asked.told("groups")["groups"]
    assert [each["topic"] for each in row["commits"]] == ["her-topic", "secret"]
    asked.services.authorizer = MayDescribe()
    told = asked.told("groups", ["her-group"])
    assert [each["topic"] for each in told["groups"][0]["commits"]] == ["her-topic"]
    assert told["left_out"] == 1
    assert asked.services.authorizer.denied == []


def test_segments_tell_neither_settings_nor_directories(asked: Asked) -> None:
    asked.data_path.create("her-topic")
    asked.services.authorizer = MayDescribe()
    (row,) = asked.told("segments", ["her-topic"])["segments"]
    assert not {"settings", "directory"} & row.keys()


def test_ends_of_what_is_led_here(asked: Asked) -> None:
    asked.data_path.create("led")
    asked.data_path.follow("followed")
    asked.data_path.produce("led", batch(3))
    now_ms = asked.services.clock.now_ms() // TICK_MS * TICK_MS
    for ago, end in ((3, 0), (2, 3)):
        asked.kept.ends.sample(TopicPartition("led", 0), now_ms // TICK_MS - ago, end)
    (row,) = asked.told("ends")["ends"]
    assert row == {
        "topic": "led",
        "partition": 0,
        "leader_epoch": 1,
        "log_start": 0,
        "last_stable": 3,
        "high_watermark": 3,
        "end": 3,
        "ends": [[now_ms - 2 * TICK_MS, 0], [now_ms - TICK_MS, 3]],
        "unstable": None,
    }
    (row,) = asked.told("ends", None, now_ms - 5)["ends"]
    assert row["ends"] == [[now_ms - TICK_MS, 3]]


def test_where_nothing_is_kept_what_is_known_anyway_is_told(asked: Asked) -> None:
    asked.services.diagnostics = None
    asked.data_path.create("t")
    told = asked.told("ends")
    assert told["kept_since_ms"] is None
    assert [(each["topic"], each["end"], each["ends"]) for each in told["ends"]] == [("t", 0, [])]
    assert asked.told("requests")["requests"] == []


def test_rows_that_are_made_are_bounded_too(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.broker.requests.diagnostic_subjects.MOST_ROWS", 2)
    for topic in "abc":
        asked.data_path.create(topic)
    told = asked.told("ends")
    assert (len(told["ends"]), told["left_out"]) == (2, 1)


def test_a_group_that_has_committed_for_very_many_partitions_leaves_others_their_turns() -> None:
    group = Group("g", GroupSettings())
    group.offsets = {TopicPartition("t", index): CommittedOffset(index) for index in range(500)}
    services = SimpleNamespace(groups=SimpleNamespace(describe=lambda group_id: (ErrorCode.NONE, group)))
    question: Any = SimpleNamespace(
        ctx=SimpleNamespace(services=services, may_unlogged=lambda *right: True),
        names=frozenset({"g"}),
        diagnostics=DiagnosticStore(1 << 20, 0),
        since_ms=-1,
        tick=1,
        points=lambda points: [],
    )
    found = list(SUBJECTS["groups"].find(question))
    assert sum(each is MORE for each in found) >= len(group.offsets)
    (row,) = (each for each in found if isinstance(each, dict))
    assert [each["offset"] for each in row["commits"]] == list(range(500))


def test_others_have_their_turn_while_the_logs_of_directories_are_added_up(asked: Asked) -> None:
    for number in range(5):
        asked.data_path.create(f"t{number}")
        asked.data_path.produce(f"t{number}", batch(1))
    info = ConnectionInfo("10.1.2.3", 5_000, "PLAINTEXT", ALICE)
    question = DiagnosticQuery(RequestContext(asked.services, info, "app", 0, 1), -1, None)
    before_disk = list(takewhile(lambda each: each is MORE, SUBJECTS["broker"].find(question)))
    assert len(before_disk) == 5
    (row,) = asked.told("broker")["broker"]
    assert [each["log_bytes"] for each in row["disks"]] == [5 * len(batch(1))]
