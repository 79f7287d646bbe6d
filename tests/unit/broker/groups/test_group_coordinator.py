"""The coordinator on a manual clock, with a log in memory."""

from barnabas.broker.groups.events import Commit, Heartbeat, Leave, Sync
from barnabas.broker.groups.group import CommittedOffset, Phase
from barnabas.core.error_code import ErrorCode
from barnabas.core.executor import InlineExecutor
from barnabas.core.pending import Pending
from barnabas.core.types import TopicPartition
from barnabas.wire.records.errors import CorruptRecordsError
from tests.unit.broker.groups.conftest import MOST_BYTES
from tests.unit.broker.groups.test_subscriptions import subscription

T0 = TopicPartition("t", 0)


def value_of(pending: Pending):
    assert pending.is_done
    return pending.value


def become_stable(service, make_join, member_id="m1"):
    join = service.groups.join("g", make_join(new_member_id=member_id))
    service.clock.advance(0)
    assert value_of(join).error_code is ErrorCode.NONE
    sync = service.groups.sync("g", Sync(member_id, value_of(join).generation, {member_id: b"all"}))
    assert value_of(sync).assignment == b"all"
    return value_of(join).generation


def phase(service, group_id="g"):
    error_code, group = service.groups.describe(group_id)
    assert error_code is ErrorCode.NONE
    return None if group is None else group.phase


def test_member_joins_syncs_commits_and_leaves(service, make_join):
    generation = become_stable(service, make_join)
    assert service.groups.heartbeat("g", Heartbeat("m1", generation)) is ErrorCode.NONE
    commit = service.groups.commit("g", Commit("m1", generation, {T0: CommittedOffset(5)}))
    assert value_of(commit) is ErrorCode.NONE
    error_code, offsets = service.groups.fetch_offsets("g", [T0, TopicPartition("t", 1)])
    assert (error_code, {key: each.offset for key, each in offsets.items()}) == (ErrorCode.NONE, {T0: 5})
    assert service.groups.leave("g", Leave("m1")) is ErrorCode.NONE
    assert phase(service) is Phase.EMPTY


def test_session_expires_without_heartbeats(service, make_join):
    generation = become_stable(service, make_join)
    for _ in range(5):
        service.clock.advance(9_000)
        assert service.groups.heartbeat("g", Heartbeat("m1", generation)) is ErrorCode.NONE
    service.clock.advance(9_999)
    assert phase(service) is Phase.STABLE
    service.clock.advance(1)
    assert phase(service) is Phase.EMPTY


def test_heartbeats_cost_no_timers(service, make_join):
    generation = become_stable(service, make_join)
    timer_count = service.clock.timer_count
    for _ in range(100):
        service.clock.advance(1)
        service.groups.heartbeat("g", Heartbeat("m1", generation))
    assert service.clock.timer_count == timer_count


def test_group_and_offsets_survive_a_restart(service, make_join):
    generation = become_stable(service, make_join)
    service.groups.commit("g", Commit("m1", generation, {T0: CommittedOffset(5, 2, "note", 9)}))
    service.restart()
    assert phase(service) is Phase.STABLE
    _, offsets = service.groups.fetch_offsets("g", None)
    assert [(each.offset, each.leader_epoch, each.metadata) for each in offsets.values()] == [(5, 2, "note")]
    assert service.groups.heartbeat("g", Heartbeat("m1", generation)) is ErrorCode.NONE
    service.clock.advance(10_000)
    assert phase(service) is Phase.EMPTY


def test_member_of_a_stable_group_rejoins_after_a_restart_and_gets_its_generation(service, make_join):
    join = service.groups.join("g", make_join(new_member_id="m1"))
    other = service.groups.join("g", make_join(new_member_id="m2"))
    service.clock.advance(0)
    assert value_of(other).generation == value_of(join).generation == 1
    service.groups.sync("g", Sync("m1", 1, {"m1": b"a", "m2": b"b"}))
    service.restart()
    again = value_of(service.groups.join("g", make_join("m2")))
    assert (again.error_code, again.generation) == (ErrorCode.NONE, 1)
    assert value_of(service.groups.sync("g", Sync("m2", 1, {}))).assignment == b"b"


def test_first_checks_of_every_call(service, make_join):
    groups = service.groups
    assert value_of(groups.join("", make_join())).error_code is ErrorCode.INVALID_GROUP_ID
    assert value_of(groups.sync("", Sync("m", 1, {}))).error_code is ErrorCode.INVALID_GROUP_ID
    assert groups.heartbeat("", Heartbeat("m", 1)) is ErrorCode.INVALID_GROUP_ID
    assert groups.leave("", Leave("m")) is ErrorCode.INVALID_GROUP_ID
    assert value_of(groups.commit("", Commit("", -1, {T0: CommittedOffset(1)}))) is ErrorCode.NONE
    assert groups.fetch_offsets("", None)[0] is ErrorCode.NONE


def test_unknown_group(service, make_join):
    groups = service.groups
    assert value_of(groups.join("g", make_join("m"))).error_code is ErrorCode.UNKNOWN_MEMBER_ID
    assert value_of(groups.sync("g", Sync("m", 1, {}))).error_code is ErrorCode.UNKNOWN_MEMBER_ID
    assert groups.heartbeat("g", Heartbeat("m", 1)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert groups.leave("g", Leave("m")) is ErrorCode.UNKNOWN_MEMBER_ID
    assert value_of(groups.commit("g", Commit("m", 1, {}))) is ErrorCode.ILLEGAL_GENERATION
    assert groups.describe("g") == (ErrorCode.NONE, None)
    assert groups.list_groups([]) == (ErrorCode.NONE, [])


def test_session_timeout_has_bounds(service, make_join):
    for session_timeout_ms in (5_999, 1_800_001):
        answer = value_of(service.groups.join("g", make_join(session_timeout_ms=session_timeout_ms)))
        assert answer.error_code is ErrorCode.INVALID_SESSION_TIMEOUT


class LateExecutor(InlineExecutor):
    """Keeps the work until it is told to do it."""

    def __init__(self):
        self.work = []

    def run(self, work, then, failed):
        self.work.append((work, then, failed))

    def do(self):
        waiting, self.work = self.work, []
        for work, then, failed in waiting:
            super().run(work, then, failed)


def take_over_late(service):
    """A new coordinator whose partition with group `g` waits for the executor."""
    executor = LateExecutor()
    service.groups.close()
    service.groups = service.start(executor)
    return executor


def test_loading_partition_asks_for_patience(service, make_join):
    generation = become_stable(service, make_join)
    executor = take_over_late(service)
    groups = service.groups
    assert value_of(groups.join("g", make_join("m1"))).error_code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert value_of(groups.sync("g", Sync("m1", 1, {}))).error_code is ErrorCode.REBALANCE_IN_PROGRESS
    assert groups.heartbeat("g", Heartbeat("m1", generation)) is ErrorCode.NONE
    assert value_of(groups.commit("g", Commit("m1", 1, {}))) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert groups.fetch_offsets("g", None)[0] is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert groups.list_groups([])[0] is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    executor.do()
    assert phase(service) is Phase.STABLE
    assert groups.list_groups([])[0] is ErrorCode.NONE


def test_resignation_overtakes_the_load(service, make_join):
    become_stable(service, make_join)
    executor = take_over_late(service)
    for index in range(2):
        service.groups.on_partition_resigned(index)
    executor.do()
    assert service.groups.describe("g") == (ErrorCode.NOT_COORDINATOR, None)
    assert service.groups.list_groups([]) == (ErrorCode.NONE, [])


def test_failed_load_is_tried_again(service, make_join, caplog):
    become_stable(service, make_join)
    executor = take_over_late(service)
    (_, _, failed), executor.work = executor.work[0], []
    failed(OSError("the disk is busy"))
    assert service.groups.describe("g")[0] is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    service.clock.advance(5_000)
    executor.do()
    assert phase(service) is Phase.STABLE


def test_partition_that_is_damaged_where_it_begins_is_tried_again(service, make_join, monkeypatch):
    """The log says so on the spot, which must not reach the controller that named the leader."""
    become_stable(service, make_join)

    def refuse(start_offset, end_offset):
        raise CorruptRecordsError("batch length 0 at position 0")

    for partition in service.replicas.partitions.values():
        monkeypatch.setattr(partition.log, "batches", refuse)
    executor = take_over_late(service)
    assert executor.work == []
    assert service.groups.describe("g")[0] is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    monkeypatch.undo()
    service.clock.advance(5_000)
    executor.do()
    assert phase(service) is Phase.STABLE


def test_resigning_answers_who_waits(make_service, clock, make_join):
    service = make_service(clock, group_initial_rebalance_delay_ms="3000")
    join = service.groups.join("g", make_join(new_member_id="m1"))
    assert not join.is_done
    service.groups.on_partition_resigned(service.groups.partition_for("g"))
    assert value_of(join).error_code is ErrorCode.NOT_COORDINATOR
    assert service.groups.heartbeat("g", Heartbeat("m1", 1)) is ErrorCode.NOT_COORDINATOR


def test_closing_answers_who_waits_and_leaves_no_timer(make_service, clock, make_join):
    service = make_service(clock, group_initial_rebalance_delay_ms="3000")
    join = service.groups.join("g", make_join(new_member_id="m1"))
    service.groups.close()
    assert value_of(join).error_code is ErrorCode.NOT_COORDINATOR
    assert clock.timer_count == 0
    assert service.groups.leave("g", Leave("m1")) is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_commit_is_not_seen_before_it_is_safe(service):
    service.replicas.is_slow = True
    commit = service.groups.commit("g", Commit("", -1, {T0: CommittedOffset(5)}))
    assert not commit.is_done
    assert service.groups.fetch_offsets("g", [T0]) == (ErrorCode.NONE, {})
    service.replicas.release()
    assert value_of(commit) is ErrorCode.NONE
    assert service.groups.fetch_offsets("g", [T0])[1][T0].offset == 5


def test_failed_append_fails_the_commit_and_the_sync(service, make_join):
    join = service.groups.join("g", make_join(new_member_id="m1"))
    service.clock.advance(0)
    service.replicas.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
    sync = service.groups.sync("g", Sync("m1", value_of(join).generation, {}))
    assert value_of(sync).error_code is ErrorCode.NOT_COORDINATOR
    commit = service.groups.commit("h", Commit("", -1, {T0: CommittedOffset(5)}))
    assert value_of(commit) is ErrorCode.NOT_COORDINATOR
    service.replicas.error_code = ErrorCode.MESSAGE_TOO_LARGE
    commit = service.groups.commit("h", Commit("", -1, {T0: CommittedOffset(5)}))
    assert value_of(commit) is ErrorCode.INVALID_COMMIT_OFFSET_SIZE


def test_an_append_that_raises_fails_the_commit_and_the_sync(service, make_join, caplog):
    join = service.groups.join("g", make_join(new_member_id="m1"))
    service.clock.advance(0)
    service.replicas.failure = RuntimeError("a bug")
    sync = service.groups.sync("g", Sync("m1", value_of(join).generation, {}))
    assert value_of(sync).error_code is ErrorCode.UNKNOWN_SERVER_ERROR
    commit = service.groups.commit("h", Commit("", -1, {T0: CommittedOffset(5)}))
    assert value_of(commit) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert not service.groups.unstable_partitions("h")
    assert "a bug" in caplog.text


def test_an_append_that_fails_later_fails_the_commit(service):
    service.replicas.is_slow = True
    commit = service.groups.commit("g", Commit("", -1, {T0: CommittedOffset(5)}))
    ((appended, _),) = service.replicas.waiting

    appended.fail(RuntimeError("a bug"))

    assert value_of(commit) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert not service.groups.unstable_partitions("g")


def test_an_append_that_raises_costs_nobody_the_answer_behind_it(service, make_join):
    """Who waits in a group whose members go: the offsets are removed, and he is answered all the same."""
    generation = become_stable(service, make_join)
    service.groups.commit("g", Commit("m1", generation, {T0: CommittedOffset(5)}))
    late = service.groups.join("g", make_join(new_member_id="m2"))
    assert not late.is_done
    service.replicas.failure = RuntimeError("a bug")

    service.groups.on_topics_deleted(["t"])
    service.groups.on_partition_resigned(service.groups.partition_for("g"))

    assert value_of(late).error_code is ErrorCode.NOT_COORDINATOR


def test_offsets_expire_and_stay_gone(service):
    now_ms = service.clock.now_ms()
    service.groups.commit("g", Commit("", -1, {T0: CommittedOffset(5, commit_timestamp_ms=now_ms)}))
    service.clock.advance(6 * 24 * 3_600_000)
    assert T0 in service.groups.fetch_offsets("g", None)[1]
    service.clock.advance(25 * 3_600_000)
    assert service.groups.describe("g") == (ErrorCode.NONE, None)
    service.restart()
    assert service.groups.fetch_offsets("g", None) == (ErrorCode.NONE, {})


def test_offsets_of_deleted_topics_stay_gone(service):
    service.groups.commit("g", Commit("", -1, {T0: CommittedOffset(5), TopicPartition("u", 0): CommittedOffset(6)}))
    service.groups.on_topics_deleted(["t"])
    service.restart()
    assert [key.topic for key in service.groups.fetch_offsets("g", None)[1]] == ["u"]


def test_very_many_groups_forget_a_topic_a_few_at_a_time_and_who_is_asked_first(service):
    groups = service.groups
    for number in range(1_000):
        offsets = {T0: CommittedOffset(number), TopicPartition("u", 0): CommittedOffset(6)}
        groups.commit(f"g{number}", Commit("", -1, offsets))
    groups.on_topics_deleted(["t"])
    left = [group for group in groups.list_groups([])[1] if T0 in group.offsets]
    assert 0 < len(left) < 1_000
    asked, commits, also = (left[at].group_id for at in (-1, -2, -3))
    assert T0 not in groups.fetch_offsets(asked, None)[1]
    groups.commit(commits, Commit("", -1, {T0: CommittedOffset(7)}))
    groups.on_topics_deleted(["u"])
    service.clock.advance(0)
    assert [group.group_id for group in groups.list_groups([])[1] if T0 in group.offsets] == [commits]
    assert groups.fetch_offsets(also, None)[1] == {}


def test_many_groups_are_taken_over_a_few_at_a_time(service):
    for number in range(1_000):
        service.groups.commit(f"g{number}", Commit("", -1, {T0: CommittedOffset(number)}))
    executor = take_over_late(service)
    executor.do()
    assert service.groups.list_groups([])[0] is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    service.clock.advance(0)
    error_code, found = service.groups.list_groups(["Empty"])
    assert (error_code, len(found)) == (ErrorCode.NONE, 1_000)
    assert service.groups.list_groups(["Stable"]) == (ErrorCode.NONE, [])


def test_answer_that_brings_the_next_request_at_once_finds_all_in_place(service, make_join):
    synced = []

    def sync_at_once(answer):
        sync = service.groups.sync("g", Sync(answer.member_id, answer.generation, {"m1": b"a", "m2": b"b"}))
        sync.then(lambda result: synced.append((answer.member_id, result.error_code, result.assignment)))

    for member_id in ("m1", "m2"):
        service.groups.join("g", make_join(new_member_id=member_id)).then(sync_at_once)
    service.clock.advance(0)
    assert sorted(synced) == [("m1", ErrorCode.NONE, b"a"), ("m2", ErrorCode.NONE, b"b")]
    assert phase(service) is Phase.STABLE


def large(size):
    return (("range", bytes(size)),)


def test_a_group_takes_no_more_than_its_part_of_the_memory(service, make_join):
    first = service.groups.join("g", make_join(new_member_id="m1", protocols=large(MOST_BYTES // 16)))
    second = service.groups.join("g", make_join(new_member_id="m2", protocols=large(MOST_BYTES // 16)))
    assert not first.is_done
    assert value_of(second).error_code is ErrorCode.GROUP_MAX_SIZE_REACHED
    # Whoever says no more than before has its place.
    assert not service.groups.join("g", make_join("m1", protocols=large(MOST_BYTES // 16))).is_done


def test_all_groups_take_no_more_than_their_memory(service, make_join):
    joins = [
        service.groups.join(f"g{number}", make_join(new_member_id="m", protocols=large(MOST_BYTES // 9)))
        for number in range(9)
    ]
    assert [each.is_done for each in joins] == [False] * 8 + [True]
    assert value_of(joins[8]).error_code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    for number in range(8):
        assert service.groups.leave(f"g{number}", Leave("m")) is ErrorCode.NONE
    assert not service.groups.join("g", make_join(new_member_id="m", protocols=large(MOST_BYTES // 9))).is_done


def test_names_of_groups_take_memory_too(service, make_join):
    # Each is left at once: what remains is an empty group.
    codes = []
    for number in range(100):
        group_id = f"{number}" + "x" * 30_000
        joined = service.groups.join(group_id, make_join(new_member_id="m", is_member_id_required=True))
        codes.append(value_of(joined).error_code)
        service.groups.leave(group_id, Leave("m"))
    assert codes[:60] == [ErrorCode.MEMBER_ID_REQUIRED] * 60
    assert codes[70:] == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 30
    commit = service.groups.commit("new", Commit("", -1, {T0: CommittedOffset(5)}))
    assert value_of(commit) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    # They are forgotten when offsets are looked through.
    service.clock.advance(service.config.offsets_retention_check_interval_ms)
    service.clock.advance(0)
    assert value_of(service.groups.commit("new", Commit("", -1, {T0: CommittedOffset(5)}))) is ErrorCode.NONE


def test_what_groups_take_is_counted_until_they_are_gone(service, make_join):
    become_stable(service, make_join)
    groups = service.groups
    assert groups.kept_bytes == sum(each.kept_bytes for each in groups.groups) > 0
    assert service.groups.leave("g", Leave("m1")) is ErrorCode.NONE
    assert groups.kept_bytes == sum(each.kept_bytes for each in groups.groups)
    service.groups.close()
    assert groups.kept_bytes == 0


def test_decoded_topics_take_memory_too(service, make_join):
    metadata = subscription(*(f"topic-{number}" for number in range(1_000)))
    joined = service.groups.join("g", make_join(new_member_id="m1", protocols=(("range", metadata),)))
    before_bytes = service.groups.kept_bytes
    service.clock.advance(3_000)
    assert joined.is_done
    assert service.groups.kept_bytes - before_bytes > 1_000 * 80
    assert service.groups.leave("g", Leave("m1")) is ErrorCode.NONE
    assert service.groups.kept_bytes < before_bytes
