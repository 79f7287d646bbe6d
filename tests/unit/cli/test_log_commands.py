"""`barnabas log`: options, tables, JSON, one-line errors."""

import json

import pytest

from barnabas.cli.main import main
from barnabas.core.errors import StorageError
from barnabas.wire.records.builder import BatchBuilder


@pytest.fixture
def run(capsys):
    def run_main(*arguments):
        code = main(["log", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run_main


@pytest.fixture
def data_dir(tmp_path):
    """One log, closed cleanly."""
    builder = BatchBuilder()
    for number in range(3):
        builder.append(1_700_000_000_000, b"key", b"value %d" % number)
    log = tmp_path / "views-0"
    log.mkdir()
    (log / f"{0:020}.log").write_bytes(builder.build(0, leader_epoch=0))
    (log / f"{0:020}.index").touch()
    (log / f"{0:020}.timeindex").touch()
    (log / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    (tmp_path / "meta.properties").write_text("version=0\nbroker.id=0\ncluster.id=c\n")
    (tmp_path / ".kafka_cleanshutdown").touch()
    return tmp_path


def damage(data_dir):
    path = data_dir / "views-0" / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("command", ["dump", "verify", "stats"])
def test_every_command_explains_itself(run, command):
    code, out, err = run(command, "--help")
    assert (code, err) == (0, "")
    assert f"Usage: barnabas log {command}" in out


@pytest.mark.parametrize("log", ["views-0", f"views-0/{0:020}.log"])
def test_dump(run, data_dir, log):
    code, out, err = run("dump", data_dir / log, "--print-data-log")
    assert (code, err) == (0, "")
    assert "Starting offset: 0\nbaseOffset: 0 lastOffset: 2 count: 3 " in out
    assert "headerKeys: [] key: key payload: value 2\n" in out


def test_dump_takes_kafkas_list_of_files(run, data_dir):
    files = [data_dir / "views-0" / f"{0:020}{suffix}" for suffix in (".log", ".index")]
    code, out, _ = run("dump", "--files", f"{files[0]},{files[1]}")
    assert code == 0
    assert [line for line in out.splitlines() if line.startswith("Dumping")] == [f"Dumping {path}" for path in files]
    assert "|" not in out


def test_verify(run, data_dir):
    code, out, err = run("verify", data_dir)
    assert (code, err) == (0, "")
    assert out.startswith(f"{data_dir} was closed cleanly.\n")
    assert out.endswith("No damage.\n")
    assert out.splitlines()[2].split() == ["views-0", "1", "1", "3", "112", "0", "3", "-"]


def test_verify_says_what_is_damaged(run, data_dir):
    damage(data_dir)
    code, out, _ = run("verify", data_dir)
    assert code == 1
    assert f"damage: views-0/{0:020}.log: position 0, offset 0: a wrong CRC\n" in out
    assert out.endswith("1 damaged place was found.\n")


def test_verify_of_a_topic_whose_log_cannot_be_read(run, data_dir, monkeypatch):
    def fail(check):
        raise StorageError("Input/output error")

    monkeypatch.setattr("barnabas.inspection.log_check.LogCheck.run", fail)
    code, out, _ = run("verify", data_dir, "--topic", "views")
    assert code == 1
    assert "damage: views-0: Input/output error\n" in out


@pytest.mark.parametrize("inside", ["", "views-0"])
def test_verify_as_json(run, data_dir, inside):
    damage(data_dir)
    (data_dir / ".kafka_cleanshutdown").unlink()
    code, out, _ = run("verify", data_dir / inside, "--json")
    (report,) = json.loads(out)
    assert (code, report["was_clean"], report["is_open"], report["damage_count"]) == (1, False, False, 1)
    (log,) = report["logs"]
    assert (log["log"], log["end_offset"]) == ("views-0", 0)
    assert [finding["kind"] for finding in log["findings"]] == ["damage", "recovery", "recovery"]


def test_stats(run, data_dir):
    code, out, err = run("stats", data_dir)
    assert (code, err) == (0, "")
    assert out.splitlines()[1].split("  ")[0] == "views"
    assert "2023-11-14 22:13:20" in out
    code, out, _ = run("stats", data_dir, "--topic", "v.*", "--json")
    (topic,) = json.loads(out)
    assert (topic["topic"], topic["record_count"], topic["key_count"]) == ("views", 3, 1)
    assert (topic["oldest_ms"], topic["compression_ratio"]) == (1_700_000_000_000, 1.0)
    _, out, _ = run("stats", data_dir, "--headers-only", "--json")
    assert "key_count" not in json.loads(out)[0]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["dump"], "no files given: use --files FILE,... or the directory of a log"),
        (["dump", "nowhere"], "nowhere: the file or directory does not exist"),
        (
            ["dump", "{}", "--key-decoder-class", "x.Y"],
            "--key-decoder-class x.Y: must be one of kafka.serializer.String",
        ),
        (["dump", "--fly"], "No such option: --fly"),
        (["verify", "nowhere"], "nowhere: the directory does not exist"),
        (["verify"], "barnabas-data: the directory does not exist; name a directory"),
        (["stats", "{}", "--topic", "nothing"], "no topic matches nothing"),
        (["verify", "{}", "--topic", "nothing"], "no topic matches nothing"),
        (["verify", "{}", "--topic", "nothing", "--json"], "no topic matches nothing"),
        (["stats", "{}", "--topic", "("], "( is not a valid regular expression"),
        (["stats", "{}", "--topic", "a{{99999999999}}"], "a{99999999999} is not a valid regular expression"),
    ],
)
def test_errors_are_one_line(run, data_dir, monkeypatch, arguments, expected):
    monkeypatch.chdir(data_dir)
    code, out, err = run(*(argument.format(data_dir) for argument in arguments))
    assert (code, out) == (1, "")
    assert err.startswith("barnabas log ")
    assert expected in err
    assert err.count("\n") == 1


def test_a_directory_without_logs(run, tmp_path):
    assert run("stats", tmp_path)[0] == 1
    code, _, err = run("dump", tmp_path)
    assert code == 1
    assert "is not a log directory" in err


@pytest.mark.parametrize("command", ["stats", "verify", "dump"])
def test_a_folder_that_is_no_log_directory_is_told_so(run, tmp_path, command):
    # Names like those of logs are everywhere.
    (tmp_path / "python-3").mkdir()
    (tmp_path / "python-3" / "build.log").write_text("done\n")
    (tmp_path / "system.log").write_text("up\n")
    code, out, err = run(command, tmp_path)
    assert (code, out) == (1, "")
    told = (
        f"barnabas log {command}: {tmp_path} is not a log directory: it contains neither a meta.properties nor a log\n"
    )
    assert err == told
