"""Where a listener's JAAS line is found, and how what is wrong there is told."""

import pytest

from barnabas.broker.server.jaas_settings import file_sections, listener_entry
from barnabas.core.config import BrokerConfig
from barnabas.core.errors import ConfigError

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
FILE = f"""
KafkaServer {{ {PLAIN} required user_alice="of all"; }};
users.KafkaServer {{ {PLAIN} required user_alice="of the listener"; }};
"""
SETTING = "listener.name.users.plain.sasl.jaas.config"


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "jaas.conf"
    file.write_text(FILE)
    return file


def config(path=None, line=None):
    settings = {} if line is None else {SETTING: line}
    return BrokerConfig.single_broker(settings | ({} if path is None else {"barnabas.jaas.config.file": str(path)}))


def test_a_listeners_own_line_wins_over_its_section_and_that_over_the_one_for_all(path):
    own = f'{PLAIN} required user_alice="of the setting";'
    assert listener_entry(config(path, own), "USERS", "PLAIN").users == {"alice": "of the setting"}
    assert listener_entry(config(path), "USERS", "PLAIN").users == {"alice": "of the listener"}
    assert listener_entry(config(path), "OTHERS", "PLAIN").users == {"alice": "of all"}
    assert listener_entry(config(path), "USERS", "SCRAM-SHA-256") is None
    assert listener_entry(config(), "USERS", "PLAIN") is None
    assert file_sections(config()) == {}


@pytest.mark.parametrize("content", [b"KafkaServer {", b"\xff\xfe", None])
def test_a_file_that_is_none_is_named(tmp_path, content):
    path = tmp_path / "jaas.conf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=rf"^barnabas.jaas.config.file={path}: "):
        listener_entry(config(path), "USERS", "PLAIN")


def test_a_line_that_is_none_is_named_without_its_text():
    with pytest.raises(ConfigError, match=f"^{SETTING}: ") as failure:
        listener_entry(config(line=f'{PLAIN} required user_alice="hidden"'), "USERS", "PLAIN")
    assert "hidden" not in str(failure.value)
