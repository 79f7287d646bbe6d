"""The names of the commands, each with what it does in a line, and of those that stand below one.

One of two words stands beside a command that does without commands below it.
"""

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Final

COMMANDS: Final = {
    "broker": "Run a broker.",
    "cluster": "Run several brokers of one cluster on this machine, or show the state of any cluster.",
    "topics": "Create, list, describe, alter and delete topics.",
    "produce": "Send lines of text to a topic.",
    "consume": "Print the records of a topic.",
    "groups": "List, describe and delete consumer groups, and reset their offsets.",
    "groups translate": "Let a group go on in a cluster that another one is mirrored into.",
    "groups migrate": "Move a group's offsets from ZooKeeper into Kafka, or back.",
    "mirror": "Mirror topics of other clusters into one, each record once.",
    "configs": "Show and change settings of topics and brokers.",
    "acls": "Show and change access rules.",
    "delete-records": "Delete the records of partitions below given offsets.",
    "log-dirs": "Show how much of what lies in the log directories of brokers.",
    "elect-leaders": "Have the leaders of partitions elected.",
    "reassign": "Move replicas to other brokers and log directories.",
    "explain": "Explain why: lag, rebalances, refusals, what is slow, offline, full or aborted.",
    "page": "Show clusters in a browser: what is wrong and why, topics, groups.",
    "quotas": "Set quotas, and show what holds clients, who uses how much, what another limit would do.",
    "transactions": "Show transactions, find those that hang, and abort them.",
    "users": "Show and change the users that log in with SCRAM.",
    "perf": "Measure how fast records are produced and consumed.",
    "log": "Look into the files of logs: dump, verify, stats.",
    "adopt": "Take over the directories of a Kafka broker.",
    "pipeline": "Activity streams on Spark: jobs, tables, a report.",
    "registry": "Show, change, move and serve the cluster's state.",
    "release": "Give the directories back to Kafka.",
}

SUBCOMMANDS: Final = {
    "cluster": ("start", "status"),
    "quotas": ("list", "set", "delete", "explain", "top", "simulate"),
    "transactions": ("list", "describe", "hanging", "abort"),
    "users": ("list", "describe", "add", "delete"),
    "perf": ("produce", "consume"),
    "log": ("dump", "verify", "stats"),
    "registry": ("ls", "get", "set", "delete", "watch", "export", "import", "serve"),
}


def module_of(name: str) -> ModuleType:
    """Return the module of a command, which is named as it is."""
    return import_module(f"barnabas.cli.{name.replace(' ', '_').replace('-', '_')}")


def find_command(name: str, below: str = "") -> tuple[Callable[..., int | None], str]:
    """Return a command's function and help.

    Args:
        name: A key of COMMANDS.
        below: One of its SUBCOMMANDS where it has some.
    """
    module = module_of(name)
    if below:
        function, text = module.SUBCOMMANDS[below]
        return function, text
    return getattr(module, module.__name__.rpartition(".")[2]), module.HELP
