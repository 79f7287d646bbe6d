"""Commands as a new user gets them wrong: streams that are closed or full, peers that say nothing, Ctrl-C at any time.

What is printed is one line that says what is wrong, and never a traceback.
"""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.cli.main import main
from barnabas.testing import Broker

BARNABAS = (sys.executable, "-m", "barnabas.cli.main")
PATIENCE_S = 60
MIB = 1 << 20


def run(shell, *arguments, stdin=None, **options):
    """Run a command line of a shell in which "$@" is barnabas with these arguments."""
    command = ["bash", "-c", shell, "bash", *BARNABAS, *arguments]
    ended = subprocess.run(command, input=stdin, capture_output=True, timeout=PATIENCE_S, **options)
    errors = ended.stderr.decode()
    assert "Traceback" not in errors
    assert "Exception ignored" not in errors
    return ended.returncode, ended.stdout.decode(), errors


@pytest.fixture
def server(kafka_broker_session):
    return ("--bootstrap-server", kafka_broker_session.bootstrap_servers)


def test_produce_without_standard_input(server):
    assert run('"$@" <&-', "produce", "--topic", "mistakes", *server) == (
        1,
        "",
        "barnabas produce: standard input is closed: connect it to a file, a pipe or a terminal\n",
    )


def test_results_without_standard_output(server):
    code, _, errors = run('"$@" >&-', "topics", "--list", *server)
    assert (code, errors) == (
        1,
        "barnabas topics: standard output is closed: connect it to a file, a pipe or a terminal\n",
    )


def test_errors_without_standard_error_do_not_stand_among_the_results():
    assert run('"$@" 2>&-', "topics", "--list", "--bootstrap-server", "127.0.0.1:1") == (1, "", "")


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(
    "closed", [*(pytest.param(each, marks=pytest.mark.whole) for each in ("<&-", ">&-", "2>&-")), "<&- >&- 2>&-"]
)
def test_no_file_of_a_broker_takes_the_place_of_a_closed_stream(tmp_path, closed):
    """The lowest free number is the next file's: what is meant for the terminal would be written into a log."""
    ready, child = os.pipe()
    command = ["bash", "-c", f'exec "$@" {closed}', "bash", *BARNABAS, "broker", "--port", "0"]
    command += ["--data-dir", str(tmp_path), "--ready-fd", str(child), "--log-level", "error"]
    with subprocess.Popen(command, pass_fds=[child]) as broker, os.fdopen(ready) as lines:
        os.close(child)
        assert "port" in lines.readline()
        files = [os.readlink(f"/proc/{broker.pid}/fd/{number}") for number in (0, 1, 2)]
        broker.terminate()
    assert not [file for file in files if str(tmp_path) in file or file.startswith(("anon_inode", "socket"))]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a file that is always full")
@pytest.mark.parametrize("arguments", [["--version"], [], ["topics", "--help"]])
def test_an_output_that_is_full(arguments):
    code, _, errors = run('"$@" > /dev/full', *arguments)
    assert code == 1
    assert "No space left on device" in errors
    assert errors.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a file that is always full")
def test_a_full_disk_under_its_output_does_not_end_a_broker(tmp_path):
    ready, child = os.pipe()
    command = ["bash", "-c", 'exec "$@" > /dev/full 2>&1', "bash", *BARNABAS, "broker", "--port", "0"]
    command += ["--data-dir", str(tmp_path), "--ready-fd", str(child)]
    with subprocess.Popen(command, pass_fds=[child]) as broker, os.fdopen(ready) as lines:
        os.close(child)
        assert "port" in lines.readline()
        broker.terminate()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_name_that_the_output_has_no_characters_for(server, encoding):
    group = f"grüppe-日本-😀-{encoding}"
    run('"$@"', "produce", "--topic", "mistakes-names", *server, stdin=b"x\n")
    reading = ("--topic", "mistakes-names", "--from-beginning", "--max-messages", "1")
    assert run('"$@"', "consume", *reading, "--group", group, *server)[0] == 0
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    code, out, _ = run('"$@" | iconv -f latin1 -t utf-8', "groups", "--list", *server, env=environment)
    assert code == 0
    assert [line for line in out.splitlines() if "-\\u65e5" in line and line.endswith(encoding)]
    listed = ("groups", "--describe", "--group", group, "--json")
    code, out, _ = run('"$@" | iconv -f latin1 -t utf-8', *listed, *server, env=environment)
    assert group in str(json.loads(out))


def test_consume_says_why_it_waits(tmp_path, monkeypatch, capfd):
    """As with a name in advertised.listeners that only the broker's own network resolves."""
    monkeypatch.setattr("barnabas.cli.consume._STALLED_S", 0.1)
    # Too long for any resolver: without a network, another name would be "temporarily" unknown.
    host = "n" * 64
    with Broker(data_dir=tmp_path) as broker:
        assert main(["topics", "--create", "--topic", "views", "-b", broker.bootstrap_servers]) == 0
    capfd.readouterr()
    with Broker(data_dir=tmp_path, config={"advertised.listeners": f"PLAINTEXT://{host}:9092"}) as broker:
        options = ["--topic", "views", "--from-beginning", "--timeout-ms", "1500", "-b", broker.bootstrap_servers]
        assert main(["consume", *options]) == 0
    assert capfd.readouterr().err.splitlines() == [
        f"Waiting for the leaders of views-0: unknown host: {host}",
        f"Not read, because their leaders have not answered yet: views-0: unknown host: {host}",
        "Processed a total of 0 messages",
    ]


@pytest.mark.parametrize("arguments", [["--version"], [], ["topics", "--help"]])
def test_a_reader_that_has_left(arguments):
    code, _, errors = run('"$@" | true; exit ${PIPESTATUS[0]}', *arguments)
    assert (code, errors) == (0, "")


def test_a_line_without_end_stops_at_a_bound_in_bounded_memory(server):
    # Twice what the command may have in all, as one line.
    limit = (1024 * MIB, 1024 * MIB)
    code, _, errors = run(
        'head -c 2000000000 /dev/zero | "$@"',
        *("produce", "--topic", "mistakes", *server),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit),
    )
    assert code == 1
    assert errors.startswith(
        "barnabas produce: line 1 has more than 1048576 bytes; --producer-property max.request.size"
    )


def test_the_lines_before_one_that_is_too_long_are_sent(server):
    stdin = b"one\r\ntwo\n" + b"x" * 101 + b"\nfour\n"
    bound = ("--producer-property", "max.request.size=100")
    code, _, errors = run('"$@"', "produce", "--topic", "mistakes-bound", *bound, *server, stdin=stdin)
    assert code == 1
    assert "line 3 has more than 100 bytes" in errors
    assert run('"$@"', "consume", "--topic", "mistakes-bound", "--from-beginning", "--max-messages", "2", *server)[
        :2
    ] == (0, "one\ntwo\n")


def test_many_refused_lines_are_one_error(server):
    topic = ("--topic", "mistakes-compact")
    # A compacted topic refuses records without a key.
    assert run('"$@"', "topics", "--create", *topic, "--config", "cleanup.policy=compact", *server)[0] == 0
    code, _, errors = run('"$@"', "produce", *topic, *server, stdin=b"line\n" * 20)
    assert code == 1
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["topics", "--list"],
        ["groups", "--list"],
        ["produce", "--topic", "t"],
        ["configs", "--describe", "--entity-type", "topics"],
        ["transactions", "hanging"],
        ["explain"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_ctrl_c_while_a_broker_says_nothing(arguments):
    """Again where the first one asks to finish in good order: the broker says nothing to that either."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = [*BARNABAS, *arguments, "--bootstrap-server", f"127.0.0.1:{listener.getsockname()[1]}"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdin is not None
            process.stdin.write(b"a\n")
            process.stdin.flush()
            listener.settimeout(PATIENCE_S)
            connection, _ = listener.accept()
            with connection:
                while process.poll() is None:
                    process.send_signal(signal.SIGINT)
                    try:
                        process.wait(0.2)
                    except subprocess.TimeoutExpired:
                        continue
            assert process.stderr is not None
            errors = process.stderr.read().decode()
    # By itself, or by the signal where it came at the very end.
    assert process.returncode in (1, 130, -signal.SIGINT)
    assert "Traceback" not in errors
    assert "no answer" not in errors


@pytest.mark.parametrize("arguments", [("quotas", "top"), ("explain", "--watch")], ids=" ".join)
def test_what_repeats_ends_at_the_first_ctrl_c_although_a_broker_says_nothing(arguments):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = [*BARNABAS, *arguments, "--bootstrap-server", f"127.0.0.1:{listener.getsockname()[1]}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            listener.settimeout(PATIENCE_S)
            connection, _ = listener.accept()
            with connection:
                process.send_signal(signal.SIGINT)
                told, _ = process.communicate(timeout=PATIENCE_S)
    # After a timeout there would be an answer or an error.
    assert (process.returncode, told) == (0, b"")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("barnabas trans", ["transactions"]),
        ("barnabas topics --desc", ["--describe"]),
        ("barnabas transactions ha", ["hanging"]),
        ("barnabas transactions abort --start", ["--start-offset"]),
        ("barnabas perf con", ["consume"]),
    ],
)
def test_a_shell_completes_what_is_typed(typed, expected):
    ended = subprocess.run(
        BARNABAS, env=os.environ | {"_BARNABAS_COMPLETE": typed}, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert [line.split("\t")[0] for line in ended.stdout.splitlines()] == expected, ended.stderr
