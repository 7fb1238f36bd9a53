"""Learners and engines by name: ours and those of other distributions, each compared with its C++ class."""

from __future__ import annotations

import functools
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from marginloom.common.parameters import Configured, listed
from marginloom.errors import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from marginloom import _core

Value = TypeVar("Value")


class FilledLater(Mapping[str, Value], Generic[Value]):
    """A mapping by name that is put together when it is first looked at."""

    def __init__(self, fill: Callable[[], dict[str, Value]]) -> None:
        self._fill = fill

    @functools.cached_property
    def _all(self) -> dict[str, Value]:
        return self._fill()

    def __getitem__(self, name: str) -> Value:
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._all.keys()

    def values(self) -> ValuesView[Value]:
        """Return what has them."""
        return self._all.values()

    def items(self) -> ItemsView[str, Value]:
        """Return both."""
        return self._all.items()


AnyConfigured = TypeVar("AnyConfigured", bound=Configured)


def those_with_a_name(names: Mapping[str, Any], base: type[AnyConfigured]) -> tuple[type[AnyConfigured], ...]:
    """Return the learners or engines that a module has, bases without a name left out.

    Examples
    --------
    >>> from marginloom.engines import base, serial
    >>> those_with_a_name(vars(serial), base.Engine)
    (<class 'marginloom.engines.serial.Serial'>,)
    """
    parts = [value for value in names.values() if isinstance(value, type) and issubclass(value, base)]
    return tuple(part for part in parts if hasattr(part, "name"))


def registered(
    role: str, base: type[AnyConfigured], own: Iterable[type[AnyConfigured]], check: Callable[[Any], None]
) -> FilledLater[type[AnyConfigured]]:
    """Return all learners or engines: ours, then those of other distributions, imported and checked at first use.

    Parameters
    ----------
    role : str
        "learner" or "engine". The entry points of the group ``marginloom.learners`` or ``marginloom.engines`` name the
        classes of other distributions.
    base : type
        What all derive from.
    own : iterable of type
        Ours.
    check : callable
        Raises `InputError` if a class does not match its C++ class.

    Examples
    --------
    >>> from marginloom.learners import LEARNERS
    >>> LEARNERS["newton"].__name__
    'Newton'
    """
    return FilledLater(functools.partial(_found, role, base, tuple(own), check))


def _found(
    role: str, base: type[AnyConfigured], own: Sequence[type[AnyConfigured]], check: Callable[[Any], None]
) -> dict[str, type[AnyConfigured]]:
    from importlib.metadata import entry_points

    found = {part.name: part for part in own}
    for point in entry_points(group=f"marginloom.{role}s"):
        part = _loaded(role, base, point)
        if part.name in found:
            raise _unusable(role, point, f"there is another {role} named {part.name!r}")
        found[part.name] = part
    for part in found.values():
        check(part)
    return found


def _loaded(role: str, base: type[AnyConfigured], point: EntryPoint) -> type[AnyConfigured]:
    try:
        part = point.load()
    except Exception as error:
        raise _unusable(role, point, f"{type(error).__name__}: {error}") from error
    if not (isinstance(part, type) and issubclass(part, base) and hasattr(part, "name")):
        raise _unusable(role, point, f"{point.value} is no {base.__name__} with a name")
    return part


def _unusable(role: str, point: EntryPoint, reason: str) -> InputError:
    distribution = point.module if point.dist is None else point.dist.name
    return InputError(
        f"the {role} {point.name!r} of the distribution {distribution!r} cannot be used ({reason}); mend it or "
        "uninstall it"
    )


#: A type, and the words if these are all that is accepted.
Type = tuple[str, frozenset[str]]


def check_parameters(
    owner: type[Configured], declared: Mapping[str, Type], native: Iterable[_core.ParameterType]
) -> None:
    """Raise `InputError` if the parameters of a class are not those of its C++ class.

    Examples
    --------
    >>> from marginloom.engines import Serial
    >>> check_parameters(Serial, {"sweeps": ("int", frozenset())}, [])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    marginloom.errors.InputError: marginloom.engines.serial.Serial declares the parameter 'sweeps', ...
    """
    here = f"{owner.__module__}.{owner.__qualname__}"
    there = f"the C++ class registered as {owner.native_name()!r}"
    types: dict[str, Type] = {parameter.name: (parameter.type, frozenset(parameter.words)) for parameter in native}
    for name in sorted(declared.keys() - types.keys()):
        has = ", ".join(types) or "none"
        raise InputError(f"{here} declares the parameter {name!r}, which {there} does not have; it has: {has}")
    for name in sorted(types.keys() - declared.keys()):
        raise InputError(f"{there} has the parameter {name!r}, which {here} does not declare")
    for name, given in declared.items():
        if given != types[name]:
            raise InputError(
                f"the parameter {name!r} is {_described(given)} in {here} and {_described(types[name])} in {there}"
            )


def _described(type_and_words: Type) -> str:
    name, words = type_and_words
    return f"{name} ({listed(sorted(words), 'or')})" if words else name


def declared_types(owner: type[Configured]) -> dict[str, Type]:
    """Return the types of the parameters that a class shares with its C++ class.

    Examples
    --------
    >>> from marginloom.engines import Pipelined
    >>> declared_types(Pipelined)["scorers"]
    ('int', frozenset())
    """
    return {
        parameter.name: (parameter.kind.convert.__name__, frozenset(parameter.kind.words))
        for parameter in owner.parameters()
        if parameter.native
    }
