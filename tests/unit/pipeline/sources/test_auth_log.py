"""OpenSSH's lines: which are logins, whose, from where; and that each line gives something, nothing, or is refused."""

import os
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.pipeline.events.encode import encode_json
from barnabas.pipeline.sources.auth_log import auth_log_lines, first_year, latest_year
from barnabas.pipeline.sources.log_lines import RawLine, SourceLine


def read(*texts: str, year: int = 2015) -> list[SourceLine]:
    lines = [RawLine("log", number, text) for number, text in enumerate(texts, start=1)]
    return list(auth_log_lines(lines, year))


def said(message: str, pid: int = 4711) -> str:
    return f"May 17 10:05:03 gate sshd[{pid}]: {message}"


def logins(*messages: str) -> list[tuple[object, ...]]:
    found = read(*(said(message) for message in messages))
    assert all(each.refused is None for each in found)
    names = ("is_success", "user", "address", "method", "reason")
    return [tuple(fields[name] for name in names) for each in found for _, fields in each.events]


ADDRESS = "192.0.2.1"
PAM = "pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost=192.0.2.1"


@pytest.mark.parametrize(
    ("message", "login"),
    [
        ("Accepted password for root from 192.0.2.1 port 22 ssh2", (True, "root", ADDRESS, "password", None)),
        (
            "Accepted publickey for git from 2001:db8::1 port 4022 ssh2: RSA SHA256:+Xab/c=",
            (True, "git", "2001:db8::1", "publickey", None),
        ),
        (
            "Accepted keyboard-interactive/pam for a from fe80::1%eth0 port 22 ssh2",
            (True, "a", "fe80::1%eth0", "keyboard-interactive/pam", None),
        ),
        (
            "Failed password for root from 192.0.2.1 port 22 ssh2",
            (False, "root", ADDRESS, "password", "failed password"),
        ),
        (
            "Failed password for invalid user admin from 192.0.2.1 port 22 ssh2",
            (False, "admin", ADDRESS, "password", "invalid user"),
        ),
        (
            "Failed password for illegal user admin from 192.0.2.1 port 22 ssh2",
            (False, "admin", ADDRESS, "password", "invalid user"),
        ),
        (
            "Failed publickey for a from 192.0.2.1 port 22 ssh2: RSA SHA256:x",
            (False, "a", ADDRESS, "publickey", "failed publickey"),
        ),
        ("Invalid user admin from 192.0.2.1 port 22", (False, "admin", ADDRESS, None, "invalid user")),
        ("Invalid user admin from 192.0.2.1", (False, "admin", ADDRESS, None, "invalid user")),
        ("Invalid user  from 192.0.2.1 port 22", (False, None, ADDRESS, None, "invalid user")),
        (
            "error: maximum authentication attempts exceeded for root from 192.0.2.1 port 22 ssh2 [preauth]",
            (False, "root", ADDRESS, None, "too many attempts"),
        ),
        (
            "maximum authentication attempts exceeded for invalid user a b from 192.0.2.1 port 22 ssh2 [preauth]",
            (False, "a b", ADDRESS, None, "too many attempts"),
        ),
        (
            "Connection closed by authenticating user root 192.0.2.1 port 22 [preauth]",
            (False, "root", ADDRESS, None, "gave up"),
        ),
        (
            "Disconnected from authenticating user root 192.0.2.1 port 22 [preauth]",
            (False, "root", ADDRESS, None, "gave up"),
        ),
        (f"{PAM}  user=root", (False, "root", ADDRESS, None, "refused by PAM")),
        (f"{PAM}  user=a rhost=9.9.9.9  user=b", (False, "a rhost=9.9.9.9  user=b", ADDRESS, None, "refused by PAM")),
        (f"{PAM} ", (False, None, ADDRESS, None, "refused by PAM")),
        # A certificate's key id, which its owner chose.
        (
            "Failed publickey for root from 192.0.2.1 port 22 ssh2: "
            "ED25519-CERT ID x from 9.9.9.9 port 1 ssh2: y (serial 0) CA ED25519 SHA256:z",
            (False, "root", ADDRESS, "publickey", "failed publickey"),
        ),
        (
            "Accepted publickey for git from 192.0.2.1 port 22 ssh2: RSA-CERT ID x from 9.9.9.9 port 1 ssh2",
            (True, "git", ADDRESS, "publickey", None),
        ),
        # Names that would be taken for something else.
        (
            "Failed password for invalid user a from 9.9.9.9 port 1 ssh2 from 192.0.2.1 port 22 ssh2",
            (False, "a from 9.9.9.9 port 1 ssh2", ADDRESS, "password", "invalid user"),
        ),
        (
            "Invalid user x from 9.9.9.9 port 1 from 192.0.2.1 port 22",
            (False, "x from 9.9.9.9 port 1", ADDRESS, None, "invalid user"),
        ),
        (
            "Failed password for invalid user Accepted password for root from 192.0.2.1 port 22 ssh2",
            (False, "Accepted password for root", ADDRESS, "password", "invalid user"),
        ),
        (
            "Connection closed by invalid user 9.9.9.9 port 1 192.0.2.1 port 22 [preauth]",
            (False, "9.9.9.9 port 1", ADDRESS, None, "gave up"),
        ),
    ],
)
def test_message_is_a_login(message: str, login: tuple[object, ...]) -> None:
    assert logins(message) == [login]


@pytest.mark.parametrize(
    "text",
    [
        said("Server listening on 0.0.0.0 port 22."),
        said("Received disconnect from 192.0.2.1 port 22:11: Bye Bye [preauth]"),
        said("Connection closed by 192.0.2.1 port 22 [preauth]"),
        said("pam_unix(sshd:session): session opened for user root by (uid=0)"),
        said("PAM 2 more authentication failures; logname= uid=0 euid=0 tty=ssh ruser= rhost=192.0.2.1  user=root"),
        said("Failed none for invalid user a from 192.0.2.1 port 22 ssh2"),
        said("User root from 192.0.2.1 not allowed because not listed in AllowUsers"),
        said(""),
        "May 17 10:05:03 gate CRON[1]: pam_unix(cron:session): session opened for user root by (uid=0)",
        "May 17 10:05:03 gate sudo: Failed password for root from 192.0.2.1 port 22 ssh2",
        "May 17 10:05:03 gate kernel: [1.0] Accepted password for root from 192.0.2.1 port 22 ssh2",
    ],
)
def test_line_that_is_no_login_gives_nothing(text: str) -> None:
    (found,) = read(text)
    assert (found.events, found.refused) == ([], None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the line is not a syslog line"),
        ("what?", "the line is not a syslog line"),
        ("x" * 70_000, "the line is not a syslog line"),
        ("Foo 17 10:05:03 gate sshd[1]: x", "the line's time is invalid"),
        ("Feb 30 10:05:03 gate sshd[1]: x", "the line's time is invalid"),
        ("May 17 25:05:03 gate sshd[1]: x", "the line's time is invalid"),
        ("2015-13-17T10:05:03Z gate sshd[1]: x", "the line's time is invalid"),
        (said("Failed password for root from 192.0.2.1"), "the message is cut short, or of a form"),
        (said("Accepted password for"), "the message is cut short, or of a form"),
        (said("message repeated 999999999 times: [ x]"), "the message is repeated more than"),
    ],
)
def test_line_that_is_not_of_the_form_is_refused(text: str, reason: str) -> None:
    (found,) = read(text)
    assert found.events == []
    assert found.refused is not None
    assert found.refused.text == text
    assert found.refused.reason.startswith(reason)


def test_one_try_that_leaves_several_lines_counts_once() -> None:
    unknown = "for invalid user admin from 192.0.2.1 port 22 ssh2"
    known = "for root from 192.0.2.1 port 22 ssh2"
    assert len(logins("Invalid user admin from 192.0.2.1 port 22", PAM, f"Failed password {unknown}")) == 1
    assert len(logins(PAM + "  user=root", f"Failed password {known}", f"Failed password {known}")) == 2
    tries = ["Failed password " + known] * 3
    ends = [f"error: maximum authentication attempts exceeded {known} [preauth]"]
    ends += ["Disconnected from authenticating user root 192.0.2.1 port 22 [preauth]"]
    assert len(logins(*tries, *ends)) == 3
    assert len(logins(*ends)) == 1
    assert len(logins("Failed password " + known, "Accepted password " + known)) == 2


def test_another_process_or_a_much_later_one_counts_anew() -> None:
    gone = "Connection closed by authenticating user root 192.0.2.1 port 22 [preauth]"
    assert [len(each.events) for each in read(said(gone, 1), said(gone, 2), said(gone, 1))] == [1, 1, 0]
    later = said(gone, 1).replace("10:05", "11:05")
    assert [len(each.events) for each in read(said(gone, 1), later)] == [1, 1]


def test_repeated_message_is_as_many_logins() -> None:
    text = said("message repeated 3 times: [ Failed password for root from 192.0.2.1 port 22 ssh2]")
    (found,) = read(text)
    assert [fields["id"] for _, fields in found.events] == ["log:1", "log:1:1", "log:1:2"]


@pytest.mark.parametrize(
    ("stamp", "iso"),
    [
        ("May 17 10:05:03", "2015-05-17T10:05:03Z"),
        ("<38>May  7 10:05:03", "2015-05-07T10:05:03Z"),
        ("2016 Feb 29 10:05:03", "2016-02-29T10:05:03Z"),
        ("2026-05-17T10:05:03.123456+02:00", "2026-05-17T08:05:03.123456Z"),
        ("2026-05-17T10:05:03Z", "2026-05-17T10:05:03Z"),
    ],
)
def test_times(stamp: str, iso: str) -> None:
    (found,) = read(f"{stamp} gate sshd-session[1]: Accepted password for a from 192.0.2.1 port 22 ssh2")
    assert f'"time":"{iso}"'.encode() in encode_json(*found.events[0])


def test_year_goes_on_over_new_year_and_back_for_a_late_line() -> None:
    stamps = ["Dec 30 10:00:00", "Dec 31 23:59:59", "Jan  1 00:00:01", "Dec 31 23:59:58", "Jan  1 00:00:02"]
    stamps += ["Jun 30 00:00:00", "Dec  1 00:00:00", "Jan  5 00:00:00", "Feb 29 00:00:00"]
    message = "gate sshd[1]: Accepted password for a from 192.0.2.1 port 22 ssh2"
    found = read(*(f"{stamp} {message}" for stamp in stamps), year=2014)
    years = [each.events[0][1]["time"].year for each in found]  # type: ignore[attr-defined]  # it is a datetime
    assert years == [2014, 2014, 2015, 2014, 2015, 2015, 2015, 2016, 2016]


@pytest.mark.parametrize(
    ("now", "year"), [(datetime(2015, 12, 31, 23), 2015), (datetime(2016, 1, 1), 2015), (datetime(2016, 12, 30), 2016)]
)
def test_log_without_a_known_year_begins_in_the_latest_one(now: datetime, year: int) -> None:
    texts = [
        f"{day} 10:00:00 gate sshd[1]: Accepted password for a from 192.0.2.1 port 22 ssh2"
        for day in ("Dec 31", "Jan  1")
    ]
    lines = [RawLine("log", number, text) for number, text in enumerate(texts, start=1)]
    found = list(auth_log_lines(lines, None, lambda: now.replace(tzinfo=UTC)))
    years = [each.events[0][1]["time"].year for each in found]  # type: ignore[attr-defined]  # it is a datetime
    assert years == [year, year + 1]


def test_first_year_comes_from_the_files_time_of_change(tmp_path: Path) -> None:
    path = tmp_path / "auth.log"
    path.write_text("Dec 30 10:00:00 gate x: y\nJan  2 10:00:00 gate x: y\n")
    for changed in (datetime(2016, 1, 2, 11), datetime(2016, 1, 1, 23), datetime(2016, 6, 1)):
        os.utime(path, (0, changed.replace(tzinfo=UTC).timestamp()))
        assert first_year(path) == 2015
    path.write_text("Dec 30 10:00:00 gate x: y\n")
    os.utime(path, (0, datetime(2016, 3, 1, tzinfo=UTC).timestamp()))
    assert first_year(path) == 2015
    path.write_text("nothing\n")
    assert first_year(path) is None
    assert latest_year((1, 1), datetime(2015, 12, 31, tzinfo=UTC)) == 2015


PIECES = st.sampled_from(
    [
        "May 17 10:05:03 gate sshd[1]: ",
        "Failed password for ",
        "Accepted password for ",
        "Invalid user ",
        "invalid user ",
        "root",
        " from ",
        "192.0.2.1",
        " port 22",
        " ssh2",
        "message repeated 2 times: [ ",
        "]",
        "pam_unix(sshd:auth): authentication failure; rhost=",
        "Connection closed by authenticating user ",
        " ",
    ]
)


@given(st.lists(st.one_of(st.text(), st.lists(PIECES).map("".join)), max_size=8))
def test_any_line_gives_logins_nothing_or_is_refused(texts: list[str]) -> None:
    found = read(*texts)
    assert [each.number for each in found] == list(range(1, len(texts) + 1))
    for each in found:
        assert not (each.events and each.refused)
        for event_type, fields in each.events:
            encode_json(event_type, fields)


def test_a_line_with_very_many_hosts_is_read_in_no_time() -> None:
    began_s = time.process_time()
    (line,) = read(said(f"pam_unix(sshd:auth): authentication failure; {'rhost=' * 10_000} x"))
    assert line.events == []
    assert time.process_time() - began_s < 1


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1))
def test_no_name_moves_the_address(name: str) -> None:
    for user in (name, f"{name} from 9.9.9.9 port 22 ssh2", f"{name} from 9.9.9.9 port 22 ssh2: RSA x"):
        for message in (
            "Failed password for invalid user {} from 192.0.2.1 port 22 ssh2",
            "Invalid user {} from 192.0.2.1 port 22",
        ):
            (login,) = logins(message.format(user))
            assert (login[0], login[2]) == (False, "192.0.2.1")
