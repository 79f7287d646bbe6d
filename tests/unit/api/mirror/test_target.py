"""The target's side of a stream: nothing counts as sent that the target did not take."""

import pytest

from barnabas.api.mirror.errors import MirrorError
from barnabas.api.mirror.librdkafka import Notes
from barnabas.api.mirror.settings import Options
from barnabas.api.mirror.source import SourceMessage
from barnabas.api.mirror.target import Target


def test_what_was_refused_is_not_drained():
    # Nobody listens there; librdkafka gives a message up after its time.
    options: Options = {"bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": 100, "log_level": 0}
    target = Target(options, Notes(), keeps_partitions=False)
    try:
        assert target.send(SourceMessage("views", 0, 0, b"key", b"value", None, None), lambda: False)
        with pytest.raises(MirrorError, match=r"the target at 127\.0\.0\.1:1 took no message of"):
            target.drain(60)
    finally:
        target.close()
    assert target.acknowledged_count == 0
