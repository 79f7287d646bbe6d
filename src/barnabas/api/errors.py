"""Errors that all client APIs raise, besides `ConfigError` for invalid settings."""

from barnabas.core.errors import BarnabasError


class ApiError(BarnabasError):
    """Any error that a client API raises while it works."""


class ClosedError(ApiError):
    """The client was closed or shut down and cannot be used any more."""


class MissingExtraError(ApiError):
    """A required library is not installed; the text names the install command."""
