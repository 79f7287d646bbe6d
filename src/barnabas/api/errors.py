"""What all client APIs raise beside `ConfigError`, which a setting that cannot be raises."""

from barnabas.core.errors import BarnabasError


class ApiError(BarnabasError):
    """Whatever a client API raises while it works."""


class ClosedError(ApiError):
    """The client was closed, or shut down: it does nothing more."""


class MissingExtraError(ApiError):
    """A library is not installed; the text says how to install it."""
