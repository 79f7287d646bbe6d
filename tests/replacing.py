"""Tests that put something else in the place of a method or a constant of ours, which only pure Python allows."""

import pytest

from barnabas.core.build import compiled_modules


def replaces(replaced: type) -> pytest.MarkDecorator:
    """Skips a test on the compiled wheel where the module of this class is compiled: what it calls there is fixed."""
    is_compiled = replaced.__module__ in compiled_modules()
    return pytest.mark.skipif(is_compiled, reason=f"{replaced.__module__} is compiled, nothing in it can be replaced")
