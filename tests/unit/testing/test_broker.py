"""What the kit's broker says before there is a process."""

import subprocess
import sys

import pytest

from barnabas.testing import Broker


@pytest.mark.parametrize("name", ["listeners", "port", "host.name", "log.dir", "log.dirs"])
def test_settings_that_have_an_argument_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: use the argument"):
        Broker(config={name: "x"})


def test_what_is_not_known_yet_is_not_made_up() -> None:
    broker = Broker()
    assert not broker.is_running
    assert broker.log_text() == ""
    for ask in (
        lambda: broker.port,
        lambda: broker.bootstrap_servers,
        lambda: broker.pid,
        lambda: broker.cluster_id,
        lambda: broker.data_dir,
    ):
        with pytest.raises(RuntimeError):
            ask()


def test_ending_what_never_began_is_harmless() -> None:
    broker = Broker()
    broker.stop()
    broker.kill()
    broker.close()


def test_addresses_of_version_6_are_bracketed() -> None:
    assert Broker(host="::1", port=9092).bootstrap_servers == "[::1]:9092"


def test_the_kit_does_without_pytest() -> None:
    check = "import sys, barnabas.testing; sys.exit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check]).returncode == 0
