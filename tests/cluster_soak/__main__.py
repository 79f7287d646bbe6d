"""Rounds of faults for three brokers and three ZooKeepers under load: `scripts/soak --cluster` and `--mixed`.

The load is ours (idempotent writers, a transactional copier, a member of a group), librdkafka's and Java's; on brokers
of both kinds also a topic that is compacted all the time, and one of an old format. When all rounds are over it is
judged as a simulated history is, by what clients were told and what the disks hold.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import pairwise
from pathlib import Path

from barnabas.testing import Broker
from tests.cluster_load import ClusterLoad
from tests.cluster_soak.faults import ANYWHERE, IN_NAMESPACES, OF_EACH_KIND, Fault, Stage, small_disk
from tests.cluster_soak.kafka_bugs import endless_loads
from tests.cluster_soak.load import KEY_COUNT, PARTITIONS, Java, Librdkafka, Writer, missing, wrongly_compacted
from tests.cluster_soak.login import Login
from tests.cluster_soak.network import LOOPBACK, Host, Network, enter
from tests.cluster_soak.readiness import Readiness
from tests.clusters import (
    NEW_MEMBER,
    Member,
    Members,
    create_topic,
    servers_of,
    wait_for_in_sync,
    wait_for_members,
)
from tests.log_tools import damages, differences_of_dumps
from tests.patience import PATIENCE_S
from tests.replicas import stored_replicas, wait_for_equal_replicas
from tests.simulation.checker import Observed, violations
from tools.kafka.server import KafkaServer, free_port
from tools.kafka.zookeeper import ZooKeeperEnsemble

_NAME = "soak"
_FOREIGN = ("librdkafka", "java")
_COMPACTED, _OLD_FORMAT = "compacted", "old-format"
_OFTEN_CLEANED = {"cleanup.policy": "compact", "segment.ms": "5000", "min.cleanable.dirty.ratio": "0.01"}
_PAUSE_S = 0.1
# Longer than a leader that died is missed.
_LONG_S = 20


@contextmanager
def _cluster(
    directory: Path, network: Network | None, kinds: Sequence[str], has_login: bool
) -> Iterator[tuple[Members, ZooKeeperEnsemble, Readiness]]:
    def host(name: str) -> Host:
        return LOOPBACK if network is None else network.host(name)

    with ExitStack() as stack:
        places = [host(f"server-{number}") for number in (1, 2, 3)]
        zookeeper = ZooKeeperEnsemble(directory, 3, [(each.address, each.prefix) for each in places])
        stack.enter_context(zookeeper)
        login = Login(directory, zookeeper.connect) if has_login else None
        members: dict[int, Member] = {}
        ours: dict[int, Broker] = {}
        doors: dict[int, tuple[str, int]] = {}
        for broker_id, kind in enumerate(kinds, 1):
            place = host(f"broker-{broker_id}")
            home = directory / f"broker-{broker_id}"
            if network is not None:
                stack.enter_context(small_disk(home / "data"))
            # Room for all on a small disk: what a log takes in advance is small, too.
            config = {"log.index.size.max.bytes": "65536", "log.cleaner.dedupe.buffer.size": "4194304"}
            room = home if kind == "kafka" else home / "data"
            if kind == "barnabas":
                doors[broker_id] = place.address, free_port()
                config["barnabas.http.listeners"] = f"{place.address}:{doors[broker_id][1]}"
            if login is not None:
                member = login.new_member(kind, room, broker_id, config, place.address, place.prefix)
            else:
                member = NEW_MEMBER[kind](room, zookeeper.connect, broker_id, config, place.address, place.prefix)
            stack.enter_context(member)
            members[broker_id] = member
            if isinstance(member, Broker):
                ours[broker_id] = member
        wait_for_members(members)
        yield members, zookeeper, Readiness(ours, doors)


def _longest_gaps_s(observed: Observed, begin_ns: int, end_ns: int) -> dict[str, float]:
    """For how long nothing was acknowledged at the longest, by topic: of its partitions the one that waited longest."""
    moments: dict[str, set[int]] = defaultdict(set)
    for append in observed.appends:
        if append.end is not None and begin_ns <= append.end <= end_ns:
            moments[append.partition].add(append.end)
    gaps: dict[str, float] = {}
    for partition, found in moments.items():
        ends = [begin_ns, *sorted(found), end_ns]
        gap = max(after - before for before, after in pairwise(ends)) / 1e9
        topic = partition.rpartition("-")[0]
        gaps[topic] = max(gaps.get(topic, 0), gap)
    return gaps


async def _play(
    stage: Stage,
    load: ClusterLoad,
    writers: list[Writer],
    readiness: Readiness,
    rounds: list[tuple[str, Fault]],
    deadline: float,
) -> list[tuple[str, int, int]]:
    """Play the rounds; when each began and ended."""
    played = []
    watching = asyncio.create_task(readiness.watch())
    await load.start()
    try:
        await load.goes_on()
        for number, (name, fault) in enumerate(rounds, 1):
            if time.monotonic() > deadline:
                print(f"the time is over after {number - 1} rounds", flush=True)
                break
            begin_ns = time.monotonic_ns()
            await asyncio.wait_for(fault(stage), 2 * PATIENCE_S)
            await stage.goes_on()
            await asyncio.to_thread(wait_for_in_sync, stage.members, _NAME)
            await readiness.wait_until_all_are()
            for writer in writers:
                writer.check()
            played.append((name, begin_ns, time.monotonic_ns()))
            print(f"round {number}: {name}, {(time.monotonic_ns() - begin_ns) / 1e9:.1f} s", flush=True)
        for writer in writers:
            await asyncio.to_thread(writer.end)
        await load.end()
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
        await load.close()
    return played


async def _goes_on(load: ClusterLoad, members: Members) -> None:
    """Wait until records are acknowledged again; a broker of Kafka's that will never do so, as its log says, is told
    and started anew.
    """
    going = asyncio.create_task(load.goes_on(40))
    while not (await asyncio.wait([going], timeout=_LONG_S))[0]:
        for broker_id, member in members.items():
            if isinstance(member, KafkaServer) and (found := endless_loads(member.log_text())):
                print(f"broker {broker_id}, Kafka's, waits for a load that it gave up; it is started anew:", flush=True)
                print(*found, sep="\n", flush=True)
                await asyncio.to_thread(member.restart)
    await going


def _soak(arguments: argparse.Namespace, network: Network | None, seed: int, directory: Path) -> list[str]:
    dice = random.Random(seed)
    faults = ANYWHERE | (IN_NAMESPACES if network is not None else {})
    is_mixed = len(set(arguments.brokers)) > 1
    if is_mixed:
        faults = OF_EACH_KIND
    if arguments.only:
        faults = {name: faults[name] for name in arguments.only if name in faults}
    names = list(faults)
    rounds: list[tuple[str, Fault]] = []
    while len(rounds) < arguments.rounds:
        # Each once before one comes again.
        rounds += [(name, faults[name]) for name in dice.sample(names, len(names))]
    rounds = rounds[: arguments.rounds]
    with _cluster(directory, network, arguments.brokers, arguments.login) as (members, zookeeper, readiness):
        servers = servers_of(members)
        load = ClusterLoad(servers, _NAME, _PAUSE_S)
        for topic in _FOREIGN:
            create_topic(members, topic, PARTITIONS)
        writers = [
            Writer(Librdkafka(servers, "librdkafka"), "librdkafka", _PAUSE_S),
            Writer(Java(servers, "java"), "java", _PAUSE_S),
        ]
        if is_mixed:
            create_topic(members, _COMPACTED, PARTITIONS, _OFTEN_CLEANED)
            create_topic(members, _OLD_FORMAT, PARTITIONS, {"message.format.version": "0.10.2"})
            compacting = Writer(Librdkafka(servers, _COMPACTED, KEY_COUNT), _COMPACTED, _PAUSE_S)
            of_old_format = Writer(Java(servers, _OLD_FORMAT, is_idempotent=False), _OLD_FORMAT, _PAUSE_S)
            writers += [compacting, of_old_format]
        stage = Stage(
            members, zookeeper, network, _NAME, dice, lambda: _goes_on(load, members), arguments.longest_pause
        )
        deadline = time.monotonic() + 60 * arguments.minutes
        try:
            played = asyncio.run(_play(stage, load, writers, readiness, rounds, deadline))
        except BaseException:
            _tell_logs(members)
            raise
        finally:
            for writer in writers:
                writer.end()
        observed = load.observed
        for writer in writers[: len(_FOREIGN)]:
            observed.appends += writer.appends
        wrong = load.wrong() + readiness.lies
        data_dirs = {broker_id: each.data_dir for broker_id, each in members.items()}
        equal = (_NAME, f"{_NAME}-copied", *_FOREIGN, *([_OLD_FORMAT] if is_mixed else []))
        for topic in equal:
            try:
                wait_for_equal_replicas(data_dirs, topic, PARTITIONS)
            except AssertionError as error:
                wrong.append(str(error))
        wrong += differences_of_dumps(data_dirs, equal)
        wrong += damages(data_dirs)
        observed.replicas += stored_replicas(data_dirs, [_NAME, *_FOREIGN], PARTITIONS)
        wrong += violations(observed)
        if is_mixed:
            wrong += wrongly_compacted(compacting.appends, stored_replicas(data_dirs, [_COMPACTED], PARTITIONS))
            wrong += missing(of_old_format.appends, stored_replicas(data_dirs, [_OLD_FORMAT], PARTITIONS))
        _tell(observed, played)
        print(f"/ready: {readiness.answers[True]} times yes, {readiness.answers[False]} no", flush=True)
        if wrong:
            _tell_logs(members)
    return wrong


def _tell(observed: Observed, played: list[tuple[str, int, int]]) -> None:
    worst: dict[str, dict[str, float]] = {}
    for name, begin_ns, end_ns in played:
        gaps = _longest_gaps_s(observed, begin_ns, end_ns)
        before = worst.setdefault(name, {})
        worst[name] = {topic: max(gap, before.get(topic, 0)) for topic, gap in gaps.items()}
    print("longest time in which nothing was acknowledged, in a partition of each topic:")
    for name, gaps in sorted(worst.items()):
        print(f"  {name}: " + ", ".join(f"{topic} {gap:.1f} s" for topic, gap in sorted(gaps.items())))
    acknowledged = sum(each.offset is not None for each in observed.appends)
    print(
        f"{acknowledged} records acknowledged, {len(observed.reads)} read, {len(observed.commits)} commits", flush=True
    )


def _tell_logs(members: Members) -> None:
    """Print what the brokers said last, as their directories go."""
    for broker_id, member in members.items():
        print(f"broker {broker_id}:", *member.log_text().splitlines()[-40:], sep="\n  ", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description="Play rounds of faults on three brokers and three ZooKeepers.")
    parser.add_argument("--rounds", type=int, default=100, metavar="N", help="(%(default)s)")
    parser.add_argument("--seed", type=int, metavar="S", help="of all choices (default: drawn, and printed)")
    parser.add_argument("--minutes", type=float, default=120, metavar="M", help="no round begins later (%(default)s)")
    parser.add_argument(
        "--brokers",
        nargs=3,
        choices=("barnabas", "kafka"),
        default=("barnabas",) * 3,
        metavar="KIND",
        help="barnabas or kafka (2.7.2); of both: each kind is killed as leader and as controller",
    )
    parser.add_argument("--login", action="store_true", help="brokers meet over TLS and log in by SCRAM")
    faults = ANYWHERE | IN_NAMESPACES | OF_EACH_KIND
    parser.add_argument("--only", action="append", choices=faults, help="one fault; may be repeated")
    parser.add_argument("--longest-pause", type=float, default=60, metavar="SECONDS", help="(%(default)s)")
    arguments = parser.parse_args()
    seed = random.randrange(2**32) if arguments.seed is None else arguments.seed
    network = Network() if enter("tests.cluster_soak") else None
    if network is None:
        print(f"the kernel allows no namespaces: without {', '.join(IN_NAMESPACES)}", flush=True)
    print(f"seed {seed}, {', '.join(arguments.brokers)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="barnabas-soak-") as directory:
        wrong = _soak(arguments, network, seed, Path(directory))
    print(*wrong[:20], f"{len(wrong)} things are wrong", sep="\n", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
