"""Options of `run security --enforce`, and the policy that they make."""

import argparse

import pytest

from barnabas.pipeline.catalogue import find_job
from barnabas.pipeline.commands.enforcement import add_enforcement_options, enforcement_followers, line_of
from barnabas.pipeline.commands.options import parse_duration
from barnabas.pipeline.enforcement.entry import Entity, Entry, Step, Verdict
from barnabas.pipeline.enforcement.policy import EntityTemplate, Policy
from barnabas.pipeline.runner.cluster import KafkaOptions
from barnabas.pipeline.runner.plan import PlanError, RunPlan

LOGIN = {
    "client.id": "night-run",
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
    'username="judge" password="secret";',
}


def policies(*words: str, jobs: tuple[str, ...] = ("security",), options=LOGIN) -> tuple[dict[str, Policy], list[str]]:
    parser = argparse.ArgumentParser()
    add_enforcement_options(parser)
    plans = [RunPlan(find_job(name), KafkaOptions("localhost:9092", options), "", "delta", "", name) for name in jobs]
    warnings: list[str] = []
    followers = enforcement_followers(parser.parse_args(words), plans, lambda _: None, warnings.append)
    return {run: follower.policy for run, follower in followers.items()}, warnings  # type: ignore[attr-defined]


def test_nothing_is_enforced_unless_asked_for():
    assert policies() == ({}, [])


def test_it_is_a_dry_run_unless_told_otherwise():
    found, warnings = policies("--enforce")
    assert found["security"].is_dry
    assert warnings == ["dry run: no limits are set; check the reported limits, then use --no-dry-run"]
    assert policies("--enforce", "--dry-run")[0]["security"].is_dry
    found, warnings = policies("--enforce", "--no-dry-run")
    assert not found["security"].is_dry
    assert warnings == []


def test_the_run_itself_is_never_limited():
    found, _ = policies("--enforce", "--never", "alice, bob")
    assert found["security"].never == {"ANONYMOUS", "night-run", "judge", "alice", "bob"}


def test_options_make_the_policy():
    words = ["--limit", "request_percentage=0.5", "--limit-for", "15m", "--enforce-what", "spammer,declared_bot"]
    words += ["--subject", "user=user", "--subject", "agent=client-id:bot-{agent}", "--most-limited", "3"]
    policy = policies("--enforce", *words, "--least-score", "0.7")[0]["security"]
    assert (policy.limits, policy.limit_for_ms) == ({"request_percentage": 0.5}, 900_000)
    assert policy.enforced == ("spammer", "declared_bot")
    entities = {"user": EntityTemplate("user", "{subject}"), "agent": EntityTemplate("client-id", "bot-{agent}")}
    assert policy.entities == entities
    assert (policy.most, policy.least_score) == (3, 0.7)


def test_only_jobs_that_judge_are_enforced():
    assert list(policies("--enforce", jobs=("ranking", "security"))[0]) == ["security"]
    with pytest.raises(PlanError, match="--enforce needs a job that gives verdicts: run security --enforce"):
        policies("--enforce", jobs=("ranking",))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--dry-run"], "--dry-run and --no-dry-run need --enforce"),
        (["--no-dry-run"], "--dry-run and --no-dry-run need --enforce"),
        (["--enforce", "--limit", "bytes=1"], "limit 'bytes' does not exist: use producer_byte_rate"),
        (["--enforce", "--limit-for", "soon"], "'soon' is not a duration: write 90s, 15m, 1h or 7d"),
        (["--enforce", "--subject", "bot=user"], "subject kind 'bot' does not exist: use user"),
        (["--enforce", "--enforce-what", "spam"], "verdict 'spam' does not exist: use crawler"),
        (["--enforce", "--least-score", "2"], "--least-score 2.0 is invalid"),
        (["--enforce", "--most-limited", "0"], "--most-limited 0 is invalid"),
    ],
)
def test_what_cannot_be(words, reason):
    with pytest.raises(PlanError, match=reason):
        policies(*words)


def test_durations():
    assert [parse_duration(text) for text in ("90", "90s", "15m", "1h", "7d")] == [
        90_000,
        90_000,
        900_000,
        3_600_000,
        604_800_000,
    ]
    for text in ("", "0", "1.5h", "-1s", "1w", "h"):
        with pytest.raises(PlanError, match="is not a duration"):
            parse_duration(text)


def test_a_step_is_said_in_a_line():
    verdict = Verdict("user", "mallory", "spammer", 1.0, "the same text 9 times", 0, 0)
    limits = {"producer_byte_rate": 1_048_576.0}
    entry = Entry(Step.LIMITED, Entity("user", "mallory"), limits, verdict, "security", 0, 0, 0)
    assert line_of(entry) == (
        "limited user=mallory to producer_byte_rate=1048576 until 1970-01-01T00:00:00.000Z: "
        "spammer mallory: the same text 9 times"
    )
