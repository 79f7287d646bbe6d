import argparse
import logging
import socket
import ssl
from contextlib import suppress

import pytest

from barnabas import __version__
from barnabas.broker.server.main import parser as broker_parser
from barnabas.cli import kafka_tools
from barnabas.cli.commands import COMMANDS, SUBCOMMANDS, find_command
from barnabas.cli.hints import explain
from barnabas.cli.main import main
from barnabas.cli.parser import command_parser
from barnabas.clients.channel import UnreachableError
from barnabas.core.build import compiled_modules
from barnabas.core.command_line import ENVIRONMENT
from barnabas.core.error_code import ErrorCode
from barnabas.core.errors import KafkaError
from barnabas.pipeline.commands.main import COMMANDS as PIPELINE_COMMANDS
from barnabas.pipeline.commands.main import main as pipeline_main
from barnabas.pipeline.commands.main import parser as pipeline_parser


@pytest.fixture
def run(capsys):
    def run_main(*arguments):
        code = main(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield run_main
    # The broker's command writes its log to a stream that is closed with this test.
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.parametrize("words", [["--version"], ["-V"], ["version"]])
def test_version_says_which_build_it_is(run, words):
    kind = "compiled" if compiled_modules() else "pure Python"
    assert run(*words) == (0, f"barnabas {__version__} ({kind})\n", "")


def test_without_a_command_it_shows_them_all(run):
    code, out, err = run()
    assert (code, err) == (0, "")
    for name in ("broker", "topics", "produce", "consume", "groups", "perf"):
        assert name in out


NAMES = [name.split() for name in COMMANDS if name not in ("broker", "pipeline")]
NAMES += [[name, each] for name, below in SUBCOMMANDS.items() for each in below]


@pytest.mark.parametrize("command", NAMES, ids=" ".join)
def test_every_command_explains_itself(run, command):
    code, out, err = run(*command, "--help")
    assert (code, err) == (0, "")
    assert f"Usage: barnabas {' '.join(command)}" in out
    assert "Example" in out or (command == command[:1] and command[0] in SUBCOMMANDS)


@pytest.mark.parametrize("command", [*NAMES, []], ids=" ".join)
def test_help_with_a_command_shows_what_its_help_option_shows(run, command):
    assert run("help", *command) == run(*command, "--help")


@pytest.mark.parametrize("words", [["--fly"], ["perf", "--fly"], ["topics", "--fly"]])
def test_help_is_shown_whatever_else_is_wrong(run, words):
    code, out, err = run(*words, "--help")
    assert (code, err) == (0, "")
    assert out.startswith("Usage: barnabas ")


@pytest.mark.parametrize("words", [["--fly"], ["run", "--fly"], ["run", "load", "--topic", "a", "--format", "x"]])
def test_help_of_the_pipeline_is_shown_whatever_else_is_wrong(capsys, words):
    with suppress(SystemExit):
        pipeline_main([*words, "--help"])
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("Usage: barnabas pipeline ")


_COMMANDS = [(name, "") for name in COMMANDS if name not in ("broker", "pipeline") and name not in SUBCOMMANDS]
_COMMANDS += [(name, each) for name, below in SUBCOMMANDS.items() for each in below]
PARSERS = {
    f"{name} {below}".strip(): command_parser(f"{name} {below}".strip(), *reversed(find_command(name, below)))
    for name, below in _COMMANDS
}
PARSERS |= {f"pipeline {name}": pipeline_parser(name) for name in PIPELINE_COMMANDS}
PARSERS |= {"broker": broker_parser().complete()}


@pytest.mark.parametrize("name", PARSERS)
def test_every_command_has_the_short_names_and_variables_of_its_options(name):
    actions = PARSERS[name]._option_string_actions
    for short, long in {"-b": "--bootstrap-server", "-t": "--topic", "-g": "--group"}.items():
        assert actions.get(short) is actions.get(long)
    for long, variable in ENVIRONMENT.items():
        assert long not in actions or variable in actions[long].help


@pytest.mark.parametrize("name", PARSERS)
def test_every_command_has_help_of_one_style(name):
    shown = PARSERS[name].format_help()
    assert shown.startswith(f"Usage: barnabas {name} ")
    assert "-h, --help" in shown
    for internal in ("--ready-fd", "--control-fd", "--parent-pid"):
        assert internal not in shown
    for action in PARSERS[name]._actions:
        assert action.help == argparse.SUPPRESS or action.help.endswith(".")


@pytest.mark.parametrize("arguments", [["topics", "--list", "-z"], ["topics", "--topic", "a", "-t", "b", "--list"]])
def test_options_that_cannot_be_read_end_with_one_line(run, arguments):
    code, out, err = run(*arguments)
    assert (code, out, err.count("\n")) == (1, "", 1)


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("kafka-topics.sh", "use barnabas topics"),
        ("kafka-topics", "use barnabas topics"),
        ("console-consumer", "use barnabas consume"),
        ("consumer-groups", "use barnabas groups"),
        ("kafka-server-start.bat", "use barnabas broker"),
        ("kafka-server-stop.sh", "Ctrl-C or SIGTERM"),
        ("kafka-dump-log.sh", "use barnabas log dump"),
        ("connect-standalone.sh", "use Kafka's connect-standalone.sh"),
    ],
)
def test_a_tool_of_kafka_leads_to_the_command_that_replaces_it(run, tool, expected):
    code, out, err = run(tool, "--list")
    assert (code, out) == (1, "")
    assert expected in err


def test_every_tool_of_kafka_leads_to_a_command_that_exists():
    for command in filter(None, kafka_tools._TOOLS.values()):
        name, *below = command.split()
        assert name in COMMANDS
        assert set(below) <= set(SUBCOMMANDS.get(name, ()))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["topcis"], "barnabas: command topcis does not exist; did you mean topics?"),
        (["fly"], "barnabas: command fly does not exist; the commands are broker, cluster, topics, produce, consume, "),
        (["perf", "fly"], "barnabas perf: No such command 'fly' (barnabas perf --help shows all options)"),
        (["topics"], "barnabas topics: exactly one action is required: --list, --create, --describe, --alter"),
        (["topics", "--list", "--delete"], "barnabas topics: exactly one action is required"),
        (["topics", "--create"], "barnabas topics: --create needs a topic: add --topic NAME"),
        (["topics", "--alter"], "barnabas topics: --alter needs a topic: add --topic NAME"),
        (["topics", "--alter", "--topic", "t"], "give the new total with --partitions N"),
        (["topics", "--alter", "--topic", "t", "--config", "a=b"], "barnabas configs --alter --topic t --add-config"),
        (["topics", "--list", "--unavailable-partitions"], "need --describe"),
        (["topics", "--describe", "--at-min-isr-partitions", "--topics-with-overrides"], "only one can be given"),
        (["topics", "--create", "--topic", "t", "--partitions", "1", "--replica-assignment", "0"], "leave the other"),
        (["topics", "--fly"], "barnabas topics: No such option: --fly"),
        (["topics", "--list", "--bootstrap-server", "here"], "barnabas topics: 'here' is not a server address"),
        (["topics", "--create", "--topic", "t", "--config", "x"], "--config x: must have the form name=value"),
        (["topics", "--create", "--topic", "t", "--replica-assignment", "a"], "must be broker ids such as 1:2,2:3"),
        (["topics", "--create", "--topic", "t", "--partitions", "0"], "argument --partitions: "),
        (["produce"], "barnabas produce: the following arguments are required: -t/--topic"),
        (["produce", "--topic", "t", "--compression-codec", "rar"], "must be one of none, gzip, snappy, lz4, zstd"),
        (
            ["produce", "--topic", "t", "--request-required-acks", "2"],
            "--request-required-acks 2: must be one of 0, 1, -1, all",
        ),
        (["produce", "--topic", "t", "--property", "colour=blue"], "must be parse.key, key.separator or ignore.error"),
        (["produce", "--topic", "t", "--property", "parse.key=yes"], "parse.key=yes: must be true or false"),
        (["topics", "--create", "--topic", "t", "--partitions", "99999999999"], "argument --partitions: "),
        (["topics", "--create", "--topic", "t", "--replication-factor", "99999"], "argument --replication-factor: "),
        (
            ["topics", "--create", "--topic", "t", "--replica-assignment", "99999999999"],
            "must be broker ids such as 1:2,2:3",
        ),
        (["topics", "--create", "--topic", "\udcff"], r"b'\xff' is not valid text in this system's encoding"),
        (["topics", "--list", "--bootstrap-server", "a..b:1"], "unknown host: a..b"),
        (["topics", "--list", "--bootstrap-server", f"{'a' * 70}:1"], "unknown host: aaaa"),
        (
            ["produce", "--topic", "t", "--producer-property", "acks=2"],
            "--producer-property acks=2: must be one of 0, 1, -1, all",
        ),
        (
            ["produce", "--topic", "t", "--producer-property", "enable.idempotence=true"],
            "enable.idempotence=true needs acks=all: add --request-required-acks all",
        ),
        (["produce", "--topic", "t", "--producer-property", "max.request.size=x"], "must be a number from 1 to"),
        (["consume", "--topic", "a", "--whitelist", "b"], "--topic and --include exclude each other"),
        (
            ["consume", "--topic", "t", "--isolation-level", "committed"],
            "--isolation-level committed: must be one of read_uncommitted, read_committed",
        ),
        (
            ["consume", "--topic", "t", "--consumer-property", "isolation.level=x"],
            "--consumer-property isolation.level=x: must be one of",
        ),
        (
            ["consume", "--topic", "t", "--from-beginning", "--consumer-property", "auto.offset.reset=latest"],
            "--from-beginning and auto.offset.reset=latest exclude each other",
        ),
        (
            ["consume", "--topic", "t", "--group", "a", "--consumer-property", "group.id=b"],
            "--group a and group.id=b differ",
        ),
        (
            [
                *("consume", "--topic", "__consumer_offsets", "--formatter"),
                "kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter",
            ],
            "barnabas groups --describe",
        ),
        (
            ["consume", "--topic", "t", "--formatter", "com.example.Mine"],
            "--formatter com.example.Mine is not supported",
        ),
        (["consume", "--topic", "t", "--partition", "0", "--offset", "9" * 30], "must be a number, earliest or latest"),
        (["adopt", "/tmp", "--zookeeper", "a..b:2181"], "a..b:2181 is not a ZooKeeper address"),
        (["broker", "--host", "a..b", "--data-dir", "{tmp}"], "the listener's host 'a..b' is no host name"),
        (["broker", "--ready-fd", "99999999"], "--ready-fd 99999999: is no open descriptor"),
        (["consume"], "barnabas consume: no topic given: use --topic NAME or --include REGEX"),
        (["consume", "--topic", "t", "--offset", "3"], "--offset needs --partition"),
        (["consume", "--topic", "t", "--partition", "0", "--offset", "x"], "must be a number, earliest or latest"),
        (["consume", "--topic", "t", "--partition", "0", "--group", "g"], "a group assigns the partitions itself"),
        (["consume", "--topic", "t", "--property", "print.colour=true"], "--property print.colour"),
        (["groups"], "barnabas groups: exactly one action is required: --list, --describe, --delete, --reset"),
        (
            ["groups", "--list", "--state", "Sleepy"],
            "--state Sleepy: must be one of Stable, PreparingRebalance, Completing",
        ),
        (["groups", "--describe", "--group", "g", "--state", "Empty"], "--state Empty: states need --list"),
        (["groups", "--delete", "--group", "g", "--to-latest"], "need --reset-offsets"),
        (["groups", "--delete-offsets", "--group", "g"], "no topic given: use --topic NAME or --topic NAME:0,1"),
        (["groups", "--delete-offsets", "--all-groups", "--topic", "t"], "--delete-offsets needs --group NAME"),
        (["groups", "--describe"], "exactly one is required: --group NAME or --all-groups"),
        (["groups", "--describe", "--group", "g", "--members", "--state"], "exclude each other"),
        (
            ["groups", "--reset-offsets", "--group", "g", "--topic", "t"],
            "exactly one reset target is required: --to-offset",
        ),
        (
            ["groups", "--reset-offsets", "--group", "g", "--to-latest"],
            "exactly one is required: --topic NAME or --all-topics",
        ),
        (["configs"], "barnabas configs: exactly one action is required: --describe, --alter"),
        (
            ["configs", "--describe"],
            "no entity type given: use --entity-type with one of topics, brokers, broker-loggers",
        ),
        (
            ["configs", "--describe", "--entity-type", "topic"],
            "--entity-type topic: must be one of topics, brokers, broker",
        ),
        (["configs", "--describe", "--entity-type", "ips"], "--entity-type ips is not supported: must be one of"),
        (
            ["configs", "--alter", "--entity-type", "users", "--add-config", "producer_byte_rate=1"],
            "no entity given for the quotas",
        ),
        (["configs", "--describe", "--user", "a", "--user-defaults"], "name a user, a client id or both, each once"),
        (["configs", "--describe", "--entity-type", "users", "--entity-name", "a", "--user", "b"], "each once"),
        (["configs", "--describe", "--client", ""], "the name of a user or a client id must not be empty"),
        (["configs", "--describe", "--client", "a", "--topic", "b"], "quotas belong to users and client ids"),
        (
            ["configs", "--alter", "--client", "a", "--add-config", "retention.ms=1"],
            "--add-config retention.ms: must be one of",
        ),
        (["configs", "--alter", "--client", "a", "--add-config", "producer_byte_rate=-1"], "must be more than 0"),
        (["configs", "--alter", "--user", "a", "--add-config", "SCRAM-SHA-256=[password=b]"], "barnabas users add"),
        (["configs", "--alter", "--client", "a"], "no change given: use --add-config NAME=VALUE"),
        (
            ["configs", "--describe", "--entity-type", "topics", "--entity-default"],
            "--entity-default needs --entity-type brokers",
        ),
        (
            ["configs", "--describe", "--topic", "a", "--broker", "1"],
            "more than one entity given: use only one of --topic, --broker",
        ),
        (
            ["configs", "--describe", "--entity-type", "broker-loggers"],
            "no broker given for the loggers: use --entity-name ID",
        ),
        (["configs", "--describe", "--topic", "a", "--add-config", "b=c"], "--describe changes nothing"),
        (["configs", "--alter", "--topic", "a"], "no change given: use --add-config NAME=VALUE"),
        (["configs", "--alter", "--topic", "a", "--add-config", "b"], "--add-config b: must have the form name=value"),
        (
            ["configs", "--alter", "--entity-type", "topics", "--delete-config", "b"],
            "no entity given: use --entity-name NAME",
        ),
        (["configs", "--alter", "--topic", "a", "--delete-config", "b", "--add-config", "b=c"], "b cannot be both"),
        (["configs", "--alter", "--topic", "a", "--add-config-file", "/nowhere"], "cannot read /nowhere"),
        (["configs", "--describe", "--topic", "a", "--command-config", "/nowhere"], "cannot read /nowhere"),
        (["configs", "--describe", "--topic", "a", "--timeout", "0"], "argument --timeout: 0 must be at least 1"),
        (["acls"], "barnabas acls: exactly one action is required: --list, --add, --remove"),
        (["acls", "--list", "--operation", "Read"], "--list shows all rules of a resource"),
        (
            ["acls", "--add"],
            "no resource given: use --topic, --group, --cluster, --transactional-id or --delegation-token",
        ),
        (["acls", "--add", "--topic", "t"], "no principal given: use --allow-principal or --deny-principal"),
        (
            ["acls", "--add", "--topic", "t", "--allow-principal", "a"],
            "--allow-principal a: must have the form User:name",
        ),
        (["acls", "--add", "--topic", "t", "--deny-host", "h"], "--deny-host needs --deny-principal"),
        (["acls", "--add", "--topic", "t", "--operation", "Fly"], "--operation Fly: must be one of All, Read, Write"),
        (
            ["acls", "--add", "--topic", "t", "--resource-pattern-type", "x"],
            "must be one of any, match, literal, prefixed",
        ),
        (["acls", "--add", "--topic", "t", "--resource-pattern-type", "any"], "--add needs literal or prefixed"),
        (["acls", "--add", "--topic", "t", "--idempotent"], "--idempotent needs --producer"),
        (["acls", "--add", "--group", "g", "--producer"], "--producer needs a --topic"),
        (["acls", "--add", "--topic", "t", "--consumer"], "--consumer needs a --topic and a --group"),
        (
            ["acls", "--add", "--topic", "t", "--producer", "--operation", "Read"],
            "leave --operation and --deny-... out",
        ),
        (
            ["acls", "--add", "--cluster", "--allow-principal", "User:a", "--operation", "read"],
            "--operation Read: must be one of All, Create, Alter",
        ),
        (["acls", "--remove", "--topic", "t"], "without a terminal: add --force"),
        (["delete-records"], "barnabas delete-records: the following arguments are required: --offset-json-file"),
        (["delete-records", "--offset-json-file", "/nowhere"], "cannot read /nowhere: No such file or directory"),
        (["log-dirs", "--describe", "--broker-list", "a"], "--broker-list a: must be broker ids such as 0,1"),
        (["elect-leaders", "--all-topic-partitions"], "the following arguments are required: --election-type"),
        (["elect-leaders", "--election-type", "FAIR"], "--election-type FAIR: must be one of PREFERRED, UNCLEAN"),
        (["elect-leaders", "--election-type", "PREFERRED"], "exactly one is required: --topic NAME with --partition N"),
        (
            ["elect-leaders", "--election-type", "PREFERRED", "--topic", "t"],
            "--topic and --partition must be given together",
        ),
        (
            ["reassign"],
            "barnabas reassign: exactly one action is required: --list, --generate, --execute, --verify, --cancel",
        ),
        (["reassign", "--execute"], "--cancel need --reassignment-json-file FILE"),
        (["reassign", "--generate", "--broker-list", "1"], "--generate needs --topics-to-move-json-file FILE and"),
        (["reassign", "--list", "--throttle", "5"], "--replica-alter-log-dirs-throttle need --execute"),
        (["reassign", "--execute", "--throttle", "0"], "--throttle"),
        (["reassign", "--execute", "--throttle", str(1 << 63)], "--throttle"),
        (["reassign", "--list", "--preserve-throttles"], "--preserve-throttles needs --verify or --cancel"),
        (["transactions", "fly"], "barnabas transactions: No such command 'fly'"),
        (["transactions", "describe"], "barnabas transactions describe: the following arguments are required: --trans"),
        (["transactions", "hanging", "--partition", "1"], "--partition needs --topic NAME"),
        (["transactions", "abort", "--topic", "t", "--partition", "0"], "exactly one is required: --start-offset N"),
        (["transactions", "abort", "--topic", "t", "--partition", "0", "--producer-id", "1"], "must be given together"),
        (["perf", "produce", "--topic", "t", "--num-records", "1"], "exactly one is required: --record-size BYTES"),
        (["broker", "/nowhere/server.properties"], "barnabas broker: cannot read /nowhere/server.properties"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(run, arguments, expected, tmp_path):
    code, out, err = run(*(argument.replace("{tmp}", str(tmp_path)) for argument in arguments))
    assert code == 1
    assert out == ""
    assert expected in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "unknown host: nowhere"),
        (socket.gaierror(socket.EAI_AGAIN, "Try again"), "cannot resolve host nowhere: Try again"),
    ],
)
def test_a_host_that_the_resolver_does_not_know(run, monkeypatch, error, expected):
    # What it says of any real name depends on the machine's network.
    def resolve(*_, **__):
        raise error

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    code, _, err = run("topics", "--list", "--bootstrap-server", "nowhere:1")
    assert code == 1
    assert err.startswith(f"barnabas topics: {expected}; ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", [["topics", "--list"], ["groups", "--list"], ["consume", "--topic", "t"]])
def test_nobody_there_says_how_to_start_a_broker(run, command):
    code, _, err = run(*command, "--bootstrap-server", "127.0.0.1:1")
    assert code == 1
    line = err.splitlines()[-1]
    assert "cannot connect to 127.0.0.1:1: connection refused; `barnabas broker` starts a broker" in line


def unreachable(cause):
    """What a pool raises when no broker could be reached."""
    try:
        try:
            raise KafkaError(ErrorCode.NETWORK_EXCEPTION, "no way to h:1") from cause
        except KafkaError as failure:
            raise UnreachableError(failure.code, failure.message) from failure
    except UnreachableError as error:
        return error


@pytest.mark.parametrize(
    ("error", "hints"),
    [
        (unreachable(ConnectionRefusedError()), {"barnabas broker", "--bootstrap-server"}),
        (unreachable(socket.gaierror()), {"--bootstrap-server"}),
        (unreachable(UnicodeError()), {"--bootstrap-server"}),
        # Somebody answers there: TLS, a certificate, a login; or nobody does within the time, or the way is closed.
        (unreachable(ssl.SSLCertVerificationError()), set()),
        (unreachable(TimeoutError()), set()),
        (unreachable(ConnectionResetError()), set()),
        (unreachable(None), set()),
        (KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, "h:1 refuses the login"), set()),
        (KafkaError(ErrorCode.ILLEGAL_SASL_STATE, "h:1 refuses the login"), set()),
        (KafkaError(ErrorCode.REQUEST_TIMED_OUT, "h:1 did not answer"), set()),
        (KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "not for you"), set()),
    ],
)
def test_a_hint_to_start_a_broker_is_given_only_where_none_listens(error, hints):
    text = explain(error)
    assert {each for each in ("barnabas broker", "--bootstrap-server") if each in text} == hints


def test_the_end_of_input_instead_of_a_password_is_one_line(run, monkeypatch):
    def ended(prompt):
        raise EOFError

    monkeypatch.setattr("getpass.getpass", ended)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    code, _, err = run("users", "add", "--user", "ann", "--bootstrap-server", "127.0.0.1:1")
    assert (code, err.count("\n")) == (1, 1)
    assert "the password is empty" in err
