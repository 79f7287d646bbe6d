"""What holds for all tests."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says something about the machine, not about the code.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# In the background of a shell a process ignores Ctrl-C, and so would all that the tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_REAL_LOG = Path(__file__).resolve().parents[2] / "shared" / "data" / "access.log.gz"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write what is seen into tests/golden/scenarios")


@pytest.fixture(scope="session")
def real_access_log() -> Path:
    """10,000 page views of a public web site: they are not part of the repository, and lie beside it.

    A test that wants them is skipped where they are not; where CI is set it fails.
    """
    if not _REAL_LOG.exists():
        absent = f"the real access log is not beside the repository: {_REAL_LOG}"
        pytest.fail(absent) if os.environ.get("CI") else pytest.skip(absent)
    return _REAL_LOG
