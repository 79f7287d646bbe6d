"""Options of `barnabas pipeline replay` that decide how a log is read."""

import argparse
import os
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import pytest

from barnabas.pipeline.commands import replay

LOGIN = "{} 10:00:00 gate sshd[1]: Accepted password for a from 192.0.2.1 port 22 ssh2\n"


@pytest.mark.parametrize(
    ("options", "years"),
    [([], [2015, 2016]), (["--follow"], [2015, 2016]), (["--follow", "--year", "2020"], [2020, 2021])],
)
def test_year_of_an_auth_log_comes_from_the_file_or_the_option(
    tmp_path: Path, options: list[str], years: list[int]
) -> None:
    path = tmp_path / "auth.log"
    path.write_text(LOGIN.format("Dec 31") + LOGIN.format("Jan  1"))
    os.utime(path, (0, datetime(2016, 1, 1, 11, tzinfo=UTC).timestamp()))
    parser = argparse.ArgumentParser()
    replay.add_options(parser)
    _, lines = replay._source(parser.parse_args([str(path), "--kind", "auth", *options]))
    found = [line.events[0][1]["time"] for line in islice(lines, 2)]
    assert found == [
        datetime(year, month, day, 10, tzinfo=UTC) for year, (month, day) in zip(years, ((12, 31), (1, 1)), strict=True)
    ]
