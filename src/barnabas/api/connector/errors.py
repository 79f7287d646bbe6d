"""Errors of a `ConsumerConnector` and its streams, besides `ConfigError`, `ClosedError` and `BrokerError`."""

from barnabas.api.errors import ApiError


class ConsumerTimeoutError(ApiError):
    """No message arrived within consumer.timeout.ms. The stream stays usable."""


class ConsumerRebalanceFailedError(ApiError):
    """The group could not assign its partitions within rebalance.max.retries attempts."""


class MessageStreamsExistError(ApiError):
    """The connector has created its streams already; it can do so only once."""


class OffsetCommitError(ApiError):
    """Offsets could not be stored."""
