"""Commands as typer wants them, for what is left to it: mistakes, and options of rarer types."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

import typer

from barnabas.cli.options import Option

P = ParamSpec("P")
R = TypeVar("R")


def for_typer(function: Callable[P, R]) -> Callable[P, R]:
    """A command whose options are annotated by `Option`, annotated by typer.Option."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    hints = {name: _converted(hint) for name, hint in get_type_hints(function, include_extras=True).items()}
    signature = inspect.signature(function)
    parameters = [each.replace(annotation=hints[each.name]) for each in signature.parameters.values()]
    run.__annotations__ = hints
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # inspect looks for it
    return run


def _converted(hint: object) -> object:
    if get_origin(hint) is not Annotated:
        return hint
    kind, *notes = get_args(hint)
    converted = [_typer_option(note) if isinstance(note, Option) else note for note in notes]
    return Annotated[(kind, *converted)]


def _typer_option(option: Option) -> object:
    # A flag without a value has " ": its help shows no type.
    return typer.Option(*option.names, metavar=option.metavar or " ", help=option.help, min=option.min, max=option.max)
