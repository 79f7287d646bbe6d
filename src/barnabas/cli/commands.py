"""The names of the commands, each with what it does in a line, and of those that stand below one."""

from typing import Final

COMMANDS: Final = {
    "broker": "Run a broker.",
    "topics": "Create, list, describe, alter and delete topics.",
    "produce": "Send lines of text to a topic.",
    "consume": "Print the records of a topic.",
    "groups": "List, describe and delete consumer groups, and reset their offsets.",
    "configs": "Show and change settings of topics and brokers.",
    "delete-records": "Delete the records of partitions below given offsets.",
    "log-dirs": "Show how much of what lies in the log directories of brokers.",
    "elect-leaders": "Have the leaders of partitions elected.",
    "reassign": "Move replicas to other brokers and log directories.",
    "transactions": "Show transactions, find those that hang, and abort them.",
    "perf": "Measure how fast records are produced and consumed.",
    "log": "Look into the files of logs: dump, verify, stats.",
    "adopt": "Take over the directories of a Kafka broker.",
    "pipeline": "Activity streams on Spark: jobs, tables, a report.",
    "release": "Give the directories back to Kafka.",
}

SUBCOMMANDS: Final = {
    "transactions": ("list", "describe", "hanging", "abort"),
    "perf": ("produce", "consume"),
    "log": ("dump", "verify", "stats"),
}
