"""Verdicts of the job security as an include file for nginx: who is not served, as long as his verdict holds.

Reads what `barnabas consume --json` prints of the topic `verdicts`, and writes the file that is named, in one step.
"""

import ipaddress
import json
import os
import re
import sys
from datetime import UTC, datetime

# By kind of subject, the variable that it is compared with, and the one that says 1 where it is blocked.
MAPS = {"user": ("$remote_user", "$blocked_user"), "token": ("$arg_api_key", "$blocked_token")}
# What nginx reads as it stands: no quotes, no variables, no patterns, and none of its own words.
NAME = re.compile(r"(?!(default|hostnames|include|volatile)$)[A-Za-z0-9_.@:+/=-]{1,256}")


def blocked(lines, whats, now):
    """Return the names of those accused whose verdicts hold, by kind of subject."""
    verdicts = {}
    for record in map(json.loads, lines):
        # The last word on a subject counts; a tombstone has none.
        verdicts[record["key"]] = json.loads(record["value"]) if record["value"] is not None else None
    names = {"address": set(), **{kind: set() for kind in MAPS}}
    for verdict in filter(None, verdicts.values()):
        kind, name = verdict["subject_kind"], verdict["subject"]
        if verdict["what"] in whats and kind in names and datetime.fromisoformat(verdict["until"]) > now:
            if is_plain(kind, name):
                names[kind].add(name)
            else:
                print(f"left out: {kind} {name!r}", file=sys.stderr)
    return names


def is_plain(kind, name):
    """Return whether a name may stand in the file: whoever asks has chosen it."""
    if kind != "address":
        return NAME.fullmatch(name) is not None
    try:
        return bool(ipaddress.ip_address(name))
    except ValueError:
        return False


def include_file(names):
    """Return the file's text."""
    text = "geo $blocked_address {\n    default 0;\n"
    text += "".join(f"    {name} 1;\n" for name in sorted(names["address"])) + "}\n"
    for kind, (of, variable) in MAPS.items():
        text += f"map {of} {variable} {{\n    default 0;\n"
        text += "".join(f'    "{name}" 1;\n' for name in sorted(names[kind])) + "}\n"
    return text


if __name__ == "__main__":
    path, whats = sys.argv[1], sys.argv[2:] or ["rate", "credential_stuffing", "password_guessing"]
    records = list(sys.stdin)
    if not records:
        # Nobody has been accused yet, or the topic can't be read: no reason to let all in.
        sys.exit(f"no record was read: {path} stays as it is")
    with open(f"{path}.new", "w") as file:
        file.write(include_file(blocked(records, whats, datetime.now(UTC))))
    os.replace(f"{path}.new", path)
