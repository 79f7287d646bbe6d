"""The thread of an async producer: takes batches from the queue and sends them.

It sends the next batch while answers to earlier ones are pending. After a failure it waits for all answers and retries
first, so that the messages of a partition stay in order.

Source: kafka.producer.async.ProducerSendThread; configuration document of 0.7, callback.handler.
"""

import logging
import threading

from barnabas.api.errors import ApiError
from barnabas.api.producer.chunk import Chunk, Encoding
from barnabas.api.producer.data import ProducerData
from barnabas.api.producer.delivery import Delivery
from barnabas.api.producer.errors import SendError
from barnabas.api.producer.event_queue import EventQueue
from barnabas.api.producer.handlers import CallbackHandler, EventHandler, Sends

log = logging.getLogger(__name__)

# Interval of polls for answers while the queue has no batch.
_POLL_MS = 5
# The maximum number of batches handed over in between.
_MOST_IN_A_ROW = 8


class Sender:
    """The sender thread, from `start` to `join`.

    Attributes:
        failed_count: How many messages were given up.
    """

    def __init__(
        self,
        queue: EventQueue,
        delivery: Delivery,
        encoding: Encoding,
        hooks: CallbackHandler,
        handler: EventHandler | None,
        sends: Sends,
    ) -> None:
        """Args:
        handler: Handles batches instead; None: they are sent.
        sends: The sender that the handler receives.
        """
        self._queue = queue
        self._delivery = delivery
        self._encoding = encoding
        self._hooks = hooks
        self._handler = handler
        self._sends = sends
        self._thread = threading.Thread(target=self._run, name="barnabas-producer", daemon=True)
        self.failed_count = 0

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        """Wait until every queued message is sent or given up; the queue must be closed."""
        self._thread.join()

    def _run(self) -> None:
        unsettled = in_a_row = 0
        while not self._queue.is_drained:
            batch = self._queue.take(_POLL_MS if unsettled else None)
            if batch:
                self._dispose(batch, is_last=False)
                in_a_row += 1
                # hot path: benchmarks/clients (every batch): send more batches first; answers can wait a little.
                if self._queue.has_full_batch and in_a_row < _MOST_IN_A_ROW and not self._delivery.has_failures:
                    unsettled = 1
                    continue
            in_a_row = 0
            self._delivery.poll()
            if self._delivery.is_in_trouble:
                self._finish()
            unsettled = self._delivery.unsettled
            self._queue.settle(unsettled)
        self._dispose([], is_last=True)
        self._finish()
        self._queue.settle(0)

    def _dispose(self, batch: list[ProducerData], *, is_last: bool) -> None:
        """Pass a batch through the hooks and send it."""
        try:
            if is_last:
                batch = self._hooks.last_batch_before_close()
            else:
                batch = self._hooks.after_dequeuing_existing_data(batch)
            batch = self._hooks.before_sending_data(batch) if batch else batch
            if not batch:
                return
            if self._handler is None:
                self._delivery.begin(self._encoded(batch))
            else:
                self._handler.handle(batch, self._sends)
        except SendError as error:
            self._give_up(error)
        except Exception as error:
            # An error of the program's hooks or handler must not end the thread.
            self._refuse(batch, error)

    def _encoded(self, batch: list[ProducerData]) -> list[Chunk]:
        chunks = []
        for data in batch:
            try:
                chunks.append(self._encoding.chunk(data))
            except Exception as error:
                # The other messages of the batch are still sent.
                self._refuse([data], error)
        return chunks

    def _finish(self) -> None:
        try:
            self._delivery.finish()
        except SendError as error:
            self._give_up(error)
        except Exception as error:
            # For example, connections could not be created again. The thread continues; the next batch fails again.
            log.error("the producer could not finish its batches", exc_info=error)

    def _refuse(self, batch: list[ProducerData], error: Exception) -> None:
        if not isinstance(error, ApiError):
            log.error("a batch of the producer failed", exc_info=error)
        self._give_up(SendError(batch, f"{type(error).__name__}: {error}", 1))

    def _give_up(self, error: SendError) -> None:
        self.failed_count += sum(len(data.messages) for data in error.failed)
        log.error("%s", error)
        try:
            self._hooks.on_failure(error)
        except Exception as hook_error:
            # An error of the program's hook.
            log.error("callback.handler's on_failure failed", exc_info=hook_error)
