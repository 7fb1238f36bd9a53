"""Parameters that describe and check themselves, so that Python, the command line and the help say the same."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from marginloom.errors import InputError

Check = Callable[[Any], bool]


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter of a learner or engine, as users see it."""

    name: str
    default: Any
    help: str
    wanted: str
    accepts: Check


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_integer(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


KINDS: dict[str, tuple[str, Check]] = {
    "positive": ("a positive number", lambda value: _is_number(value) and value > 0),
    "count": ("a whole number, 0 or more", lambda value: _is_integer(value) and value >= 0),
    "positive count": ("a whole number, 1 or more", lambda value: _is_integer(value) and value >= 1),
    "switch": ("true or false", lambda value: isinstance(value, bool)),
}


def parameter(default: Any, kind: str, help: str) -> Any:
    """Declare a field of a `Configured` dataclass, with what it accepts (a key of `KINDS`) and its help text."""
    return dataclasses.field(default=default, metadata={"kind": kind, "help": help})


def check_value(name: str, value: Any, kind: str) -> None:
    """Raise `InputError`, in one sentence, unless the value is of that kind."""
    wanted, accepts = KINDS[kind]
    if not accepts(value):
        raise InputError(f"{name} must be {wanted}, not {value!r}")


@dataclasses.dataclass(frozen=True)
class Configured:
    """Base of learners and engines: a frozen dataclass whose fields are declared with `parameter`."""

    name: ClassVar[str]

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            check_value(field.name, getattr(self, field.name), field.metadata["kind"])

    @classmethod
    def parameters(cls) -> Iterator[Parameter]:
        """Yield the declared parameters in order."""
        for field in dataclasses.fields(cls):
            wanted, accepts = KINDS[field.metadata["kind"]]
            yield Parameter(field.name, field.default, field.metadata["help"], wanted, accepts)
