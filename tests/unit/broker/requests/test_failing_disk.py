"""A disk that fails under a request that only looks: the client is told, and the directory goes offline."""

import pytest

from barnabas.broker.requests.handlers import delete_records
from barnabas.core.config import TopicConfig
from barnabas.core.error_code import ErrorCode
from barnabas.wire.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.unit.broker.requests.conftest import batch


@pytest.fixture
def path(data_path):
    for topic in ("t", "u"):
        data_path.create(topic)
        data_path.produce(topic, batch())
    return data_path


def refuse_epochs(path, topic):
    """A directory stands where the epochs are to be written."""
    (path.log(topic).directory / "leader-epoch-checkpoint.tmp").mkdir()


def test_delete_records(path):
    refuse_epochs(path, "u")
    wanted = DeleteRecordsTopic("u", [DeleteRecordsPartition(0, 1)])
    (answered,) = path.call(delete_records.HANDLER, 1, DeleteRecordsRequest([wanted], 1_000)).topics
    # The file follows what is in memory: who is answered does not wait for it.
    assert [(each.low_watermark, each.error_code) for each in answered.partitions] == [(1, ErrorCode.NONE)]
    assert len(path.errors) == 1


def test_list_offsets_by_the_times_of_files(path):
    path.log("u").segments[0].path.unlink()
    assert path.list_offsets("u", -1, version=0).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert len(path.errors) == 1


def test_a_change_of_settings(path):
    epochs = path.log("t").directory / "leader-epoch-checkpoint"
    epochs.unlink()
    epochs.mkdir()
    path._topic_configs["t"] = TopicConfig.from_broker(path.config).with_overrides(
        {"message.format.version": "0.10.2", "min.insync.replicas": "2"}
    )
    path.replicas.update_topic_config("t")
    assert len(path.errors) == 1
    assert path.partition("t").min_insync_replicas == 2
