"""Tests that put something else in the place of a method or a constant of ours, which only pure Python allows."""

import pytest

from barnabas.core.build import compiled_modules


def replaces(module: str) -> pytest.MarkDecorator:
    """Skip a test where this module is compiled: what is called there is fixed."""
    is_compiled = module in compiled_modules()
    return pytest.mark.skipif(is_compiled, reason=f"{module} is compiled, nothing in it can be replaced")
