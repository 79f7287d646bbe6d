"""What a `ConsumerConnector` and its streams raise beside `ConfigError`, `ClosedError` and `BrokerError`."""

from barnabas.api.errors import ApiError


class ConsumerTimeoutError(ApiError):
    """No message came within consumer.timeout.ms. The stream goes on: the next one can be waited for."""


class ConsumerRebalanceFailedError(ApiError):
    """The group's partitions could not be shared out within rebalance.max.retries tries."""


class MessageStreamsExistError(ApiError):
    """A connector makes streams once."""


class OffsetCommitError(ApiError):
    """Offsets could not be stored."""
