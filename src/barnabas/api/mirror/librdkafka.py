"""What the mirror's consumers and producers of librdkafka share."""

import threading
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException

from barnabas.api.mirror.errors import MirrorError
from barnabas.api.mirror.settings import Options

C = TypeVar("C")


class Notes:
    """Errors that are tried again, each text once until it is read; any thread may write."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def add(self, text: str) -> None:
        with self._lock:
            self._counts[text] += 1

    def read(self) -> list[str]:
        """Return the texts added since the last call, with how often where that was more than once."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        return [text if count == 1 else f"{text} ({count} times)" for text, count in counts.items()]


def started(client: Callable[[dict[str, object]], C], options: Options, notes: Notes) -> C:
    """A client of librdkafka whose troubles go to `notes`. Raises MirrorError: A setting can't be."""

    def note(error: KafkaError) -> None:
        notes.add(f"{options['bootstrap.servers']}: {error.str()}")

    try:
        return client({**options, "error_cb": note})
    except KafkaException as error:
        raise MirrorError(f"librdkafka: {error.args[0].str()}") from None
