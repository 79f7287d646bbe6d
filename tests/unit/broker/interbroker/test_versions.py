"""Which version of a request brokers send each other."""

import pytest

from barnabas.broker.interbroker.versions import NOT_USED, version_of
from barnabas.core.errors import ConfigError
from barnabas.wire.protocol.api_keys import ApiKey

# Sent by Kafka 2.7.2 at each version.
SEEN = {
    "2.7": {"FETCH": 12, "OFFSET_FOR_LEADER_EPOCH": 3, "LEADER_AND_ISR": 4, "UPDATE_METADATA": 6, "STOP_REPLICA": 3},
    "2.6": {"FETCH": 11, "OFFSET_FOR_LEADER_EPOCH": 3, "LEADER_AND_ISR": 4, "UPDATE_METADATA": 6, "STOP_REPLICA": 3},
    "2.3": {"FETCH": 11, "OFFSET_FOR_LEADER_EPOCH": 3, "LEADER_AND_ISR": 2, "UPDATE_METADATA": 5, "STOP_REPLICA": 1},
    "0.11.0": {"FETCH": 5, "OFFSET_FOR_LEADER_EPOCH": 0, "LEADER_AND_ISR": 0, "UPDATE_METADATA": 3, "STOP_REPLICA": 0},
}


@pytest.mark.parametrize("spoken", SEEN)
def test_versions_are_those_that_kafka_was_seen_to_send(spoken: str) -> None:
    assert {name: version_of(ApiKey[name], spoken) for name in SEEN[spoken]} == SEEN[spoken]


def test_a_step_of_a_version_decides() -> None:
    assert [version_of(ApiKey.FETCH, each) for each in ("0.8.2", "0.9.0", "2.7-IV0", "2.7-IV1")] == [0, 1, 11, 12]
    assert [version_of(ApiKey.LIST_OFFSETS, each) for each in ("0.10.1-IV1", "0.10.1-IV2", "2.2")] == [0, 1, 5]
    assert [version_of(ApiKey.CONTROLLED_SHUTDOWN, each) for each in ("0.8.2", "2.4-IV0", "2.4")] == [0, 2, 3]


def test_what_brokers_of_a_version_do_not_send_is_said() -> None:
    assert version_of(ApiKey.ALTER_ISR, "2.7-IV1") == NOT_USED
    assert version_of(ApiKey.ALTER_ISR, "2.7") == 0
    assert version_of(ApiKey.OFFSET_FOR_LEADER_EPOCH, "0.11.0-IV1") == NOT_USED
    assert version_of(ApiKey.WRITE_TXN_MARKERS, "0.11.0") == 0


def test_others_are_refused() -> None:
    with pytest.raises(KeyError):
        version_of(ApiKey.METADATA, "2.7")
    with pytest.raises(ConfigError):
        version_of(ApiKey.FETCH, "9.9")
