"""From what the domain answers to what the client gets, now or later."""

from collections.abc import Callable
from typing import TypeVar

from barnabas.core.pending import Pending

A = TypeVar("A")
R = TypeVar("R")


def shaped(answer: Pending[A], shape: Callable[[A], R]) -> R | Pending[R]:
    """The response that `shape` makes of an answer: at once when the answer is there, else when it comes."""
    if answer.is_done:
        return shape(answer.value)
    response: Pending[R] = Pending()
    response.on_cancel = answer.cancel
    answer.then(lambda value: response.complete(shape(value)))
    return response
