"""The example that makes an include file for nginx of verdicts: who is in it, and who can't get anything else in."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "docs/examples/nginx_blocks.py"
HOLDS, LAPSED = "2999-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z"


def record(kind: str, subject: str, what: str = "rate", until: str = HOLDS) -> dict[str, object]:
    verdict = {"subject_kind": kind, "subject": subject, "what": what, "until": until}
    return {"topic": "verdicts", "key": f"{kind} {subject}", "value": json.dumps(verdict)}


RECORDS = [
    record("address", "192.0.2.7"),
    record("address", "2001:db8::7", "credential_stuffing"),
    record("address", "192.0.2.8", until=LAPSED),
    record("address", "192.0.2.9"),
    {"topic": "verdicts", "key": "address 192.0.2.9", "value": None},
    record("user", "mallory@example.org"),
    record("user", "spam", "spammer"),
    record("token", "aZ09-_.=" * 32),
    record("visitor", "192.0.2.1 Browser", "crawler"),
    # Who asks may call himself anything.
    record("address", "0.0.0.0/0 1; } http {"),
    record("user", '" 1; } server { listen 1; #'),
    record("user", "~.*"),
    record("user", "default"),
    record("token", "$request_uri"),
    record("token", "a\\"),
    record("token", "a\n"),
]

WANTED = f"""\
geo $blocked_address {{
    default 0;
    192.0.2.7 1;
    2001:db8::7 1;
}}
map $remote_user $blocked_user {{
    default 0;
    "mallory@example.org" 1;
}}
map $arg_api_key $blocked_token {{
    default 0;
    "{"aZ09-_.=" * 32}" 1;
}}
"""


def written(directory: Path, *whats: str) -> tuple[str, str]:
    file = directory / "blocked.conf"
    lines = "".join(json.dumps(each) + "\n" for each in RECORDS)
    command = [sys.executable, str(EXAMPLE), str(file), *whats]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    return file.read_text(), done.stderr


def test_file_blocks_those_whose_verdicts_hold_and_nothing_else_gets_into_it(tmp_path: Path) -> None:
    text, told = written(tmp_path)
    assert text == WANTED
    assert len(told.splitlines()) == 7
    command = [sys.executable, str(EXAMPLE), str(tmp_path / "blocked.conf")]
    assert subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode == 1
    assert (tmp_path / "blocked.conf").read_text() == WANTED
    assert '"spam" 1;' in written(tmp_path, "spammer")[0]


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
def test_nginx_takes_the_file(tmp_path: Path) -> None:
    written(tmp_path)
    config = tmp_path / "nginx.conf"
    http = "map_hash_bucket_size 512; include blocked.conf; access_log off;"
    config.write_text(f"pid {tmp_path}/pid; error_log stderr; events {{}} http {{ {http} }}")
    command = ["nginx", "-t", "-p", str(tmp_path), "-c", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
