"""Commands whose options are the fields of a dataclass, so that commands can share groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from inspect import Parameter, Signature
from typing import Any, TypeVar, get_type_hints

Options = TypeVar("Options")


def command(run: Callable[[Options], None]) -> Callable[..., None]:
    """Make a command from a function whose only argument, `options`, is a dataclass.

    Typer reads the signature of a command, so the command gets a parameter for each field. A field
    that is itself a dataclass is a group of options, and is replaced by its own fields.
    """
    kind = get_type_hints(run)["options"]
    parameters = _parameters(kind)

    def call(**given: Any) -> None:
        run(_gather(kind, given))

    call.__name__, call.__doc__, call.__module__ = run.__name__, run.__doc__, run.__module__
    call.__annotations__ = {p.name: p.annotation for p in parameters}
    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return call


def _parameters(kind: Any) -> list[Parameter]:
    found = []
    for name, hint, default in _fields(kind):
        if is_dataclass(hint):
            found += _parameters(hint)
        else:
            found.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint))
    return found


def _gather(kind: Any, given: Mapping[str, Any]) -> Any:
    return kind(
        **{
            name: _gather(hint, given) if is_dataclass(hint) else given[name]
            for name, hint, _ in _fields(kind)
        }
    )


def _fields(kind: Any) -> list[tuple[str, Any, Any]]:
    """Name, annotation and default of each field."""
    hints = get_type_hints(kind, include_extras=True)
    return [
        (
            field.name,
            hints[field.name],
            Parameter.empty if field.default is MISSING else field.default,
        )
        for field in fields(kind)
    ]
