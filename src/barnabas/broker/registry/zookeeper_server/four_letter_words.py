"""Four-letter words: ZooKeeper's status commands, sent as four letters without a frame.

Only words that read are supported: ruok, srvr, stat, mntr, conf, cons, envi, dump, wchs, isro. The others reset
counters or list every watch; they are answered like words that are not in ZooKeeper's whitelist.

Source: ZooKeeper administrator's guide, the four letter words; ZooKeeper 3.5.9, org.apache.zookeeper.server.command.
"""

from collections.abc import Callable
from typing import Final

from barnabas import __version__
from barnabas.broker.registry.zookeeper_server.sessions import MOST_TIMEOUT_MS, TICK_MS
from barnabas.broker.registry.zookeeper_server.state import MOST_PER_HOST, ServerState

WORD_BYTES: Final = 4
# The first number is the version of the protocol, which clients check.
_VERSION = f"3.5.9-barnabas-{__version__}"


def answer_to(word: bytes, server: ServerState) -> bytes:
    """Return the complete response to a word."""
    answer = _ANSWERS.get(word)
    if answer is None:
        return f"{word.decode('ascii', 'replace')} is not executed because it is not in the whitelist.\n".encode()
    return answer(server).encode()


def _srvr(server: ServerState) -> str:
    statistics = server.statistics
    return (
        f"Zookeeper version: {_VERSION}\n"
        f"Latency min/avg/max: {statistics.least_ms}/{statistics.average_ms}/{statistics.most_ms}\n"
        f"Received: {statistics.received_count}\n"
        f"Sent: {statistics.sent_count}\n"
        f"Connections: {len(server.connections)}\n"
        f"Outstanding: {server.outstanding_count}\n"
        f"Zxid: {server.tree.zxid:#x}\n"
        "Mode: standalone\n"
        f"Node count: {len(server.tree)}\n"
    )


def _stat(server: ServerState) -> str:
    first, rest = _srvr(server).split("\n", 1)
    clients = "".join(
        f" {each.peer}[{int(each.session is not None)}](queued={each.outstanding_count},"
        f"recved={each.received_count},sent={each.sent_count})\n"
        for each in server.connections
    )
    return f"{first}\nClients:\n{clients}\n{rest}"


def _mntr(server: ServerState) -> str:
    statistics = server.statistics
    watch_count = server.watches.counts()[2]
    values: dict[str, object] = {
        "version": _VERSION,
        "avg_latency": statistics.average_ms,
        "max_latency": statistics.most_ms,
        "min_latency": statistics.least_ms,
        "packets_received": statistics.received_count,
        "packets_sent": statistics.sent_count,
        "num_alive_connections": len(server.connections),
        "outstanding_requests": server.outstanding_count,
        "server_state": "standalone",
        "znode_count": len(server.tree),
        "watch_count": watch_count,
        "ephemerals_count": sum(len(server.tree.ephemerals(owner)) for owner in server.tree.owners()),
    }
    return "".join(f"zk_{name}\t{value}\n" for name, value in values.items())


def _conf(server: ServerState) -> str:
    return (
        f"clientPort={server.port}\n"
        f"tickTime={TICK_MS}\n"
        f"maxClientCnxns={MOST_PER_HOST}\n"
        f"minSessionTimeout={server.sessions.least_timeout_ms}\n"
        f"maxSessionTimeout={MOST_TIMEOUT_MS}\n"
        "serverId=0\n"
    )


def _cons(server: ServerState) -> str:
    lines = []
    for each in server.connections:
        session = each.session
        known = f",sid={session.id:#x},to={session.timeout_ms}" if session is not None else ""
        lines.append(
            f" {each.peer}[{int(session is not None)}](queued={each.outstanding_count},"
            f"recved={each.received_count},sent={each.sent_count}{known})\n"
        )
    return "".join(lines) + "\n"


def _envi(server: ServerState) -> str:
    return f"Environment:\nzookeeper.version={_VERSION}\n"


def _dump(server: ServerState) -> str:
    sessions = server.sessions.all()
    lines = [f"SessionTracker dump:\nSession Sets ({len(sessions)}):\n"]
    lines += [f"{session.id:#x}\t{session.timeout_ms}ms\n" for session in sessions]
    owners = server.tree.owners()
    lines.append(f"ephemeral nodes dump:\nSessions with Ephemerals ({len(owners)}):\n")
    for owner in owners:
        lines.append(f"{owner:#x}:\n")
        lines += [f"\t{path}\n" for path in server.tree.ephemerals(owner)]
    return "".join(lines)


def _wchs(server: ServerState) -> str:
    watchers, paths, watches = server.watches.counts()
    return f"{watchers} connections watching {paths} paths\nTotal watches:{watches}\n"


# differs from Kafka (registry-words): by default ZooKeeper's whitelist contains only srvr.
_ANSWERS: Final[dict[bytes, Callable[[ServerState], str]]] = {
    b"ruok": lambda server: "imok",
    b"isro": lambda server: "rw",
    b"srvr": _srvr,
    b"stat": _stat,
    b"mntr": _mntr,
    b"conf": _conf,
    b"cons": _cons,
    b"envi": _envi,
    b"dump": _dump,
    b"wchs": _wchs,
}

# All recognised words: their bytes are not read as the length of a frame.
WORDS: Final = frozenset([*_ANSWERS, b"crst", b"srst", b"wchc", b"wchp", b"dirs", b"stmk", b"gtmk", b"hash", b"orst"])
