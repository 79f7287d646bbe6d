"""What is printed steers no terminal and begins no line of its own, whatever groups, clients and records are called."""

import ast
import errno
import io
import json
import re
import sys
from pathlib import Path

import pytest

from barnabas.cli import output
from barnabas.cli.main import fail

SOURCES = Path(output.__file__).parent
EVIL = "a\nb\x1b[2J\x9b31m\u202e[red]"
SHOWN = r"a\nb\x1b[2J\x9b31m\u202e[red]"
PRINTERS = {"print", "echo", "secho", "Console", "print_exception"}
# Texts of our own alone: help, and the version. What `main` says of a mistake is tested below.
OWN_TEXTS = {"parser.py", "main.py"}


class Terminal(io.TextIOWrapper):
    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def isatty(self) -> bool:
        return True

    def shown(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode()  # type: ignore[attr-defined]  # io.BytesIO


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """No fixture: between one and its test pytest puts its own standard output back."""
    made = Terminal()
    monkeypatch.setattr(sys, "stdout", made)
    monkeypatch.setenv("COLUMNS", "100")
    return made


def calls(path: Path) -> list[str]:
    """What a module calls that prints by itself, or writes to standard output or error."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        if called.split(".")[-1] in PRINTERS or called.startswith(("sys.stdout.", "sys.stderr.")):
            found.append(f"{path.name}:{node.lineno}: {ast.unparse(node)}")
    return found


class FullDisk(io.StringIO):
    def flush(self) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_under_the_output_does_not_end_a_command_that_runs_until_it_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdout", FullDisk())
    monkeypatch.setattr(sys, "stderr", FullDisk())
    output.announce("the page is here")
    output.note("the mirror lags")
    with pytest.raises(OSError, match="No space left"):
        output.say("a result")


def test_no_command_prints_but_by_output() -> None:
    harmless = ("isatty()", "flush()", "fileno()")
    modules = [path for path in SOURCES.glob("*.py") if path.name not in {"output.py", *OWN_TEXTS}]
    assert len(modules) > 40
    assert [each for path in modules for each in calls(path) if not each.endswith(harmless)] == []


def test_lines_notes_and_mistakes_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    output.say(f"Deleted group {EVIL}.")
    output.note(EVIL)
    output.prompt(EVIL)
    assert fail("barnabas groups", f"no such group: {EVIL}\u2028") == 1
    out, err = capsys.readouterr()
    assert out == f"Deleted group {SHOWN}.\n{SHOWN}"
    assert err == f"{SHOWN}\nbarnabas groups: no such group: {SHOWN.replace(chr(92) + 'n', ' ')}\n"


def test_cells_are_escaped_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_table(["group", "members"], [[EVIL, 1], ["plain ä", 2]])
    assert [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()] == ["group", SHOWN, "plain ä"]


def test_cells_are_escaped_on_a_terminal_and_markup_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    output.print_table(["group", "members"], [[EVIL, 1]])
    assert f"│ {SHOWN} │" in terminal.shown()


def test_json_can_be_printed_and_read(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_json([EVIL])
    out = capsys.readouterr().out
    assert out.rstrip("\n").isprintable()
    assert json.loads(out) == [EVIL]


def test_data_is_as_it_is_in_a_pipe(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    output.data_writer()(b"\xff\x1b[2J\n")
    sys.stdout.flush()
    output.print_data(EVIL)
    output.print_csv([[EVIL, 1]])
    sys.stdout.flush()
    assert capfdbinary.readouterr().out == b"\xff\x1b[2J\n" + EVIL.encode() + f'"{EVIL}",1\n'.encode()


def test_data_steers_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    output.data_writer()("ä\t".encode() + b"\xff\x1b[2J\n")
    output.print_data(f"日本\t{EVIL}\n")
    output.print_csv([[EVIL, 1]])
    shown = SHOWN.replace(r"\n", "\n")
    assert terminal.shown() == f'ä\t\\xff\\x1b[2J\n日本\t{shown}\n"{shown}",1\n'


@pytest.mark.parametrize("width", [80, 100, 200])
def test_a_table_on_a_terminal_has_whole_words_at_every_width(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    columns = [
        "group",
        "topic",
        "partition",
        "current offset",
        "log end offset",
        "lag",
        "consumer id",
        "host",
        "client",
    ]
    consumer = "reporting-c7155c45-3333-4c1c-9d06-0f08c56164b0"
    terminal = on_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", str(width))
    output.print_table(
        columns, [["reporting", "page-views", 0, 12_345_678, 12_345_999, 321, consumer, "/10.1.2.3", "r1"]]
    )
    shown = re.sub(r"\x1b\[[0-9;]*m", "", terminal.shown())
    words = shown.replace("│", " ").split()
    assert max(map(len, shown.splitlines())) <= width
    for word in ("partition", "current", "offset", "12345678", consumer, "/10.1.2.3"):
        assert word in words
