"""Name the command that replaces one of Kafka's shell tools.

Source: bin/ of Kafka 2.7.2.
"""

import re
from typing import Final

# None: Barnabas has no such command.
_TOOLS: Final = {
    "acls": "acls",
    "broker-api-versions": "cluster status",
    "configs": "configs",
    "connect-distributed": None,
    "connect-mirror-maker": "mirror",
    "connect-standalone": None,
    "console-consumer": "consume",
    "console-producer": "produce",
    "consumer-groups": "groups",
    "consumer-perf-test": "perf consume",
    "delegation-tokens": None,
    "delete-records": "delete-records",
    "dump-log": "log dump",
    "features": None,
    "leader-election": "elect-leaders",
    "log-dirs": "log-dirs",
    "mirror-maker": "mirror",
    "preferred-replica-election": "elect-leaders",
    "producer-perf-test": "perf produce",
    "reassign-partitions": "reassign",
    "replica-verification": "cluster status",
    "run-class": None,
    "server-start": "broker",
    "server-stop": "",
    "streams-application-reset": None,
    "topics": "topics",
    "transactions": "transactions",
    "trogdor": None,
    "verifiable-consumer": None,
    "verifiable-producer": None,
    "zookeeper-security-migration": None,
    "zookeeper-server-start": "registry serve",
    "zookeeper-server-stop": "",
    "zookeeper-shell": "registry",
}


def instead_of(word: str) -> str:
    """Return the replacement of a Kafka tool, to follow an error message; empty if the word names no tool."""
    name = re.sub(r"^kafka-|\.(sh|bat)$", "", word)
    if name not in _TOOLS:
        return ""
    command = _TOOLS[name]
    if command is None:
        return f"; barnabas does not replace this tool: use Kafka's {word}"
    return f"; use barnabas {command}" if command else "; stop the process with Ctrl-C or SIGTERM"
