"""Enforcement against a broker: limits that expire, kills, operators, the command, and a throttled client."""

import asyncio
import contextlib
import json
import socketserver
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest

from barnabas.clients import Pool
from barnabas.clients.admin_quota_states import Limited, QuotaStateAdmin
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.pipeline.commands.main import main
from barnabas.pipeline.enforcement.audit import AuditTopic
from barnabas.pipeline.enforcement.decision import decide
from barnabas.pipeline.enforcement.enforcer import Enforcer
from barnabas.pipeline.enforcement.entry import Entity, Entry, Verdict
from barnabas.pipeline.enforcement.follower import EnforcementError, EnforcementFollower
from barnabas.pipeline.enforcement.policy import Policy, parse_template, wanted
from barnabas.pipeline.events.types import POST
from barnabas.pipeline.job import PLACE, Frames, Job, Mode, Parameters, TableOutput, TopicInput
from barnabas.pipeline.jobs.security.scoring import VERDICTS, Rule, Sign, judge
from barnabas.pipeline.runner.cluster import KafkaOptions
from tests.compat.conftest import RunningBroker
from tests.compat.test_client_quotas import Client
from tests.patience import PATIENCE_S, until
from tests.pipeline.site import Site

T = TypeVar("T")
LIMITS = {"producer_byte_rate": 1024.0, "consumer_byte_rate": 2048.0}
LONG_MS = 3_600_000
NAMED = {"user": parse_template("user", "client-id")}


class Place:
    """A cluster with an audit topic and client ids of the test's own."""

    def __init__(self, broker: RunningBroker, name: str) -> None:
        self.broker = broker
        self.audit_topic = f"{name}-audit"
        self.abuser = Entity("client-id", f"{name}-abuser")
        self.kafka = KafkaOptions(broker.bootstrap_servers, {"client.id": f"{name}-run"})

    def policy(self, **fields: Any) -> Policy:
        return Policy(**{"limits": LIMITS, "limit_for_ms": LONG_MS, "entities": NAMED, "is_dry": False, **fields})

    def accuse(self, until_ms: int = LONG_MS) -> Verdict:
        now_ms = time.time_ns() // 1_000_000
        name = self.abuser.name
        return Verdict("user", name, "spammer", 1.0, "the same text 9 times", now_ms, now_ms + until_ms, user=name)

    def do(self, call: Callable[[Pool], Coroutine[object, object, T]]) -> T:
        async def run() -> T:
            async with Pool(self.broker.bootstrap_servers, "operator") as pool:
                return await call(pool)

        return asyncio.run(run())

    def enforce(self, policy: Policy, verdicts: Sequence[Verdict] | None) -> list[Entry]:
        """Run one round, as a run that has just been started; return the steps."""
        told: list[Entry] = []

        async def enforce(pool: Pool) -> list[Entry]:
            audit = AuditTopic(pool, self.audit_topic)
            await audit.create()
            assert await Enforcer(pool, audit, policy, "security", told.append).round(verdicts)
            return told

        return self.do(enforce)

    def settle(self, verdicts: Sequence[Verdict]) -> None:
        while self.enforce(self.policy(), verdicts):
            pass

    def limits(self, entity: Entity | None = None) -> dict[str, float]:
        limited = (entity or self.abuser).limited
        return self.do(lambda pool: QuotaStateAdmin(pool).limits()).get(limited, {})

    def operate(self, limited: Limited, changes: Mapping[str, float | None]) -> None:
        self.do(lambda pool: QuotaStateAdmin(pool).alter_limits(limited, changes))

    def steps(self) -> list[str]:
        """Give all steps in the audit topic."""

        async def read(pool: Pool) -> list[str]:
            return [entry.to_json()["step"] for entry in await AuditTopic(pool, self.audit_topic).read()]

        return self.do(read)

    def wait_for_limits(self, wanted: Mapping[str, float]) -> None:
        until(lambda: self.limits() == wanted, lambda: f"{self.limits()}, and not {wanted}")

    def command(self, *words: str) -> int:
        at = ("--bootstrap-server", self.broker.bootstrap_servers, "--audit-topic", self.audit_topic)
        return main(["limits", *at, *words])


@pytest.fixture
def place(cluster: RunningBroker, name: str) -> Iterator[Place]:
    place = Place(cluster, name)
    yield place
    left = place.limits()
    if left:
        place.operate(place.abuser.limited, dict.fromkeys(left))


def test_a_dry_run_says_what_it_would_do(place: Place):
    (would,) = place.enforce(place.policy(is_dry=True), [place.accuse()])
    assert would.limits == LIMITS
    assert place.limits() == {}
    assert place.enforce(place.policy(is_dry=True), [place.accuse()]) == []
    # A real run does not take it for the truth, nor the dry run the real limits for an operator's.
    place.enforce(place.policy(), [place.accuse()])
    (would,) = place.enforce(place.policy(is_dry=True), [])
    assert would.note == "no longer accused"
    assert place.limits() == LIMITS


def test_an_operator_who_is_quicker_while_others_are_limited_keeps_his_limit(place: Place):
    own = {"producer_byte_rate": 5_000.0}
    other = Entity("client-id", f"{place.abuser.name}-2")
    first, second = place.accuse(), replace(place.accuse(), subject=other.name, user=other.name)

    class Meanwhile(dict[str, float | None]):
        """Changes during which an operator limits the other one."""

        def items(self):
            began_s = time.monotonic()
            operator = threading.Thread(target=place.operate, args=(other.limited, own))
            operator.start()
            operator.join()
            while time.monotonic() < began_s + 0.1:
                """A look is not older than that."""
            return super().items()

    async def limit(pool: Pool) -> bool:
        audit = AuditTopic(pool, place.audit_topic)
        await audit.create()
        enforcer = Enforcer(pool, audit, place.policy(), "security")
        now_ms = time.time_ns() // 1_000_000
        targets = wanted([first, second], place.policy(), now_ms)
        (one, two), _ = decide(place.policy(), "security", {}, targets, {}, now_ms)
        return await enforcer.do([replace(one, changes=Meanwhile(one.changes)), two])

    try:
        assert not place.do(limit)
        assert (place.limits(), place.limits(other)) == (LIMITS, own)
    finally:
        place.operate(other.limited, dict.fromkeys(LIMITS))


class Killed(BaseException):
    """Ends a round as a kill would: nothing catches it."""


def kill_before(effect: int, patch: Callable[..., None]) -> None:
    """Raise `Killed` right before an effect on the cluster: a write to the audit topic, or a change of limits."""
    left = effect

    def killing(original: Any) -> Any:
        async def counted(self: Any, what: Any, *arguments: Any) -> Any:
            nonlocal left
            # An append of nothing has no effect.
            left -= bool(what)
            if left == 0:
                raise Killed
            return await original(self, what, *arguments)

        return counted

    patch(AuditTopic, "append", killing(AuditTopic.append))
    patch(QuotaStateAdmin, "alter_limits", killing(QuotaStateAdmin.alter_limits))


@pytest.mark.parametrize("is_still_accused", [True, False])
def test_killed_before_any_effect_enforcement_resumes(
    place: Place, monkeypatch: pytest.MonkeyPatch, is_still_accused: bool
):
    # Intent, limits, outcome; and the same for lifting.
    for effect in range(1, 7):
        with monkeypatch.context() as patches:
            kill_before(effect, patches.setattr)
            with pytest.raises(Killed):
                deque(place.enforce(place.policy(), verdicts) for verdicts in ([place.accuse()], []))
        assert place.limits() == (LIMITS if effect in (3, 4, 5) else {}), f"killed before {effect}"
        if is_still_accused:
            place.settle([place.accuse()])
            assert place.limits() == LIMITS, f"killed before {effect}"
        place.settle([])
        assert place.limits() == {}, f"killed before {effect}"


def test_what_expired_while_nobody_ran_is_lifted_at_the_start(place: Place):
    place.enforce(place.policy(limit_for_ms=1), [place.accuse()])
    assert place.limits() == LIMITS
    follower = EnforcementFollower(place.kafka, place.policy(), "security", place.audit_topic)
    follower.start()
    try:
        place.wait_for_limits({})
    finally:
        follower.close()
    assert place.steps()[-2:] == ["lifting", "lifted"]


def test_a_cluster_that_is_away_is_waited_for_and_told_of():
    warnings: list[str] = []
    warned = threading.Event()

    def warn(text: str) -> None:
        warnings.append(text)
        warned.set()

    follower = EnforcementFollower(KafkaOptions("127.0.0.1:1", {}), Policy(), "security", warn=warn)
    follower.start()
    try:
        assert warned.wait(PATIENCE_S)
        follower.poll()
    finally:
        follower.close()
    assert warnings[0].startswith("enforcement waits for the cluster: ")


def test_new_verdicts_do_not_hurry_a_follower_whose_cluster_is_away():
    tries: list[float] = []
    tried = threading.Event()

    class Refusing(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            tries.append(time.monotonic())
            tried.set()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Refusing) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        port = server.server_address[1]
        follower = EnforcementFollower(KafkaOptions(f"127.0.0.1:{port}", {}), Policy(), "security")
        follower.start()
        try:
            assert tried.wait(PATIENCE_S)
            follower.take([])
            with pytest.raises(EnforcementError, match="were not enforced within 2 s"):
                follower.settle(2.0)
        finally:
            follower.close()
            server.shutdown()
            thread.join()
    # A try has some connections, and there are three tries at the most in such a time.
    assert len(tries) <= 30


def test_limits_are_shown_and_lifted_by_hand(place: Place, capsys: pytest.CaptureFixture[str]):
    assert place.command() == 0
    assert capsys.readouterr().out == "no limits are set by enforcement\n"
    place.enforce(place.policy(), [place.accuse()])
    assert place.command("--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["entity"] == {"client-id": place.abuser.name}
    assert said["at_the_broker"] == LIMITS
    assert place.command() == 0
    first, second, third = capsys.readouterr().out.splitlines()
    assert first == f"{place.abuser}: consumer_byte_rate=2048, producer_byte_rate=1024"
    assert second.endswith(", by run security")
    assert third == f"    spammer {place.abuser.name}: the same text 9 times"

    assert place.command("--lift", "client-id=somebody") == 2
    assert "client-id=somebody is not limited by enforcement" in capsys.readouterr().err
    assert place.command("--lift-expired") == 0
    assert capsys.readouterr().out == "0 lifted\n"
    assert place.limits() == LIMITS
    assert place.command("--lift", str(place.abuser)) == 0
    assert place.limits() == {}
    # A pardon: the same verdict limits no more.
    assert place.enforce(place.policy(), [place.accuse()]) == []
    capsys.readouterr()
    assert place.command("--history") == 0
    steps = [line.split()[1] for line in capsys.readouterr().out.splitlines()]
    assert steps == ["limiting", "limited", "lifting", "pardoned"]


def test_limits_that_the_broker_refuses_are_not_tried_again(place: Place):
    (failed,) = place.enforce(place.policy(limits={"x" * 32_768: 1.0}), [place.accuse()])
    assert failed.to_json()["step"] == "failed"
    place.settle([])
    (failed,) = place.enforce(place.policy(limits={"no_such_rate": 1.0}), [verdict := place.accuse()])
    assert failed.to_json()["step"] == "failed"
    assert "no_such_rate" in failed.note
    assert place.enforce(place.policy(limits={"no_such_rate": 1.0}), [verdict]) == []


def test_a_run_that_stops_says_what_it_leaves(place: Place):
    other = f"{place.abuser.name}-2"
    verdicts = [place.accuse(), replace(place.accuse(), subject=other, user=other)]
    place.enforce(place.policy(), verdicts[:1])
    place.enforce(place.policy(limit_for_ms=1), verdicts)
    lifted = threading.Event()
    warnings: list[str] = []
    follower = EnforcementFollower(
        place.kafka, place.policy(), "security", place.audit_topic, lambda _: lifted.set(), warnings.append
    )
    follower.start()
    assert lifted.wait(PATIENCE_S)
    follower.close()
    (warning,) = warnings
    assert warning.startswith("limits stay in force (1): the next run lifts them in time")
    assert place.limits() == LIMITS


def test_a_dry_run_warns_of_limits_that_it_leaves(place: Place):
    place.enforce(place.policy(), [place.accuse()])
    warnings: list[str] = []
    follower = EnforcementFollower(
        place.kafka, place.policy(is_dry=True), "security", place.audit_topic, warn=warnings.append
    )
    follower.take([])
    follower.start()
    follower.settle(PATIENCE_S)
    told = (
        "limits of earlier runs are in force (1), and a dry run lifts none: `barnabas pipeline limits --lift-expired`"
    )
    assert warnings == [told]
    follower.close()
    assert warnings == [told]
    assert place.limits() == LIMITS


def test_a_topic_that_would_forget_is_told_of(place: Place):
    async def made_by_an_operator(pool: Pool) -> list[str]:
        from barnabas.clients import Admin
        from barnabas.clients.admin import NewTopic

        await Admin(pool).create_topic(NewTopic(place.audit_topic, 1, 1, {"retention.ms": "1000"}))
        return await AuditTopic(pool, place.audit_topic).create()

    (warning,) = place.do(made_by_an_operator)
    assert warning.startswith(f"topic {place.audit_topic} has retention.ms=1000: ")


def test_a_topic_that_was_made_anew_is_told_of(place: Place):
    place.enforce(place.policy(), [place.accuse()])

    async def read_again(pool: Pool) -> list[Entry]:
        from barnabas.clients import Admin

        audit = AuditTopic(pool, place.audit_topic)
        before = await audit.read()
        await Admin(pool).delete_topic(place.audit_topic)
        is_created = False
        deadline = time.monotonic() + PATIENCE_S
        while not is_created and time.monotonic() < deadline:
            # The broker may still delete the first one.
            with contextlib.suppress(KafkaError):
                is_created = not await AuditTopic(pool, place.audit_topic).create()
        assert await AuditTopic(pool, place.audit_topic).read() == []
        with pytest.raises(KafkaError, match="is shorter than it was") as raised:
            await audit.read()
        assert raised.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
        return before

    assert len(place.do(read_again)) == 2


def same_texts(frames: Frames, parameters: Parameters) -> Frames:
    """Judge who posts the same again and again, by the means of the job security: it alone takes a minute."""
    posts = frames["posts"].groupBy("user", "text")
    figures = posts.agg({"*": "count", "time": "max"}).toDF("user", "text", "same_text", "last_seen")
    figures = figures.withColumn("first_seen", figures.last_seen)
    sign = Sign("same_text", 10, "same_text >= 5", "concat('the same text ', same_text, ' times')")
    return {VERDICTS: judge(figures, Rule("'spammer'", [sign], 5), "user", ("user",), 168)}


SAME_TEXTS = Job(
    name="same-texts",
    does="finds who posts the same again and again",
    inputs=(TopicInput("post", POST),),
    outputs=(TableOutput("posts"), TableOutput(VERDICTS, Mode.REPLACE)),
    transform=lambda frames, parameters: {"posts": frames["post"].select("user", "text", "time", *PLACE[:3])},
    refresh=same_texts,
)


def test_from_events_to_a_client_that_is_held(site: Site, place: Place):
    now, abuser, honest = datetime.now(UTC), place.abuser.name, f"{place.abuser.name}-not"
    site.create(site.topic("post"), 1)
    site.send_events(
        "post",
        [
            {"id": f"{user}-{number}", "time": now, "user": user, "item": f"{number}", "text": text}
            for number in range(9)
            for user, text in ((abuser, "Cheap watches only here"), (honest, f"Day {number} of the journey"))
        ],
    )
    told: list[Entry] = []
    follower = EnforcementFollower(place.kafka, place.policy(), "same-texts", place.audit_topic, told.append)
    # Parquet, whose commits cost least.
    site.run(SAME_TEXTS, followers={"same-texts": follower}, table_format="parquet")
    assert [(entry.entity, entry.verdict.what, entry.verdict.why) for entry in told] == [
        (place.abuser, "spammer", "the same text 9 times")
    ]
    assert told[0].verdict.evidence["same_text"] == 9
    assert place.limits() == LIMITS

    traffic = f"{site.name}-traffic"
    site.create(traffic, 1)
    throttled_ms = {}
    for user in (abuser, honest):
        peer = Client(place.broker, user)
        # At the second request the windows hold more than the limit.
        throttled_ms[user] = [peer.produce(traffic, 50_000)[0] for _ in range(2)][-1]
        peer.close()
    assert throttled_ms[abuser] > 0
    assert throttled_ms[honest] == 0


def test_a_run_whose_verdicts_cannot_be_enforced_ends(place: Place):
    kafka = KafkaOptions(place.broker.bootstrap_servers, {"security.protocol": "SASL_PLAINTEXT"})
    follower = EnforcementFollower(kafka, place.policy(), "security", place.audit_topic)
    follower.start()
    with pytest.raises(EnforcementError, match="verdicts can't be enforced: "):
        poll_for_ever(follower)
    follower.close()


def poll_for_ever(follower: EnforcementFollower) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        follower.poll()
