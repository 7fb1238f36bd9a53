"""Parameters that describe and check themselves, so that Python, the command line and the help say the same."""

from __future__ import annotations

import dataclasses
import difflib
import math
import numbers
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from marginloom.errors import InputError


@dataclasses.dataclass(frozen=True)
class Kind:
    """What a parameter accepts, in words and as a check, and the plain type that it becomes.

    Attributes
    ----------
    words : tuple of str
        All that it accepts, if these are words.
    """

    wanted: str
    accepts: Callable[[Any], bool]
    convert: type
    words: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter of a learner or engine, as users see it.

    Attributes
    ----------
    neutral : object, optional
        Of a parameter by which a learner asks its engine for something: the value that asks for nothing. Engines name
        those that they honour. None for all others, which their owner sees to by itself.
    native : bool
        Whether the C++ class has it too, under the same name. What has an effect in Python alone is not native.
    earlier : object, optional
        The value that stands for it in files of versions that did not have it. None: those versions had it.
    """

    name: str
    default: Any
    help: str
    kind: Kind
    neutral: Any = None
    native: bool = True
    earlier: Any = None

    @property
    def wanted(self) -> str:
        """What it accepts, in words."""
        return self.kind.wanted


def _is_number(value: Any) -> bool:
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond the range of the others
        return False


def _is_integer(value: Any, lowest: int, highest: int) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and lowest <= int(value) <= highest


def one_of(*words: str) -> Kind:
    """Return the kind of a parameter that accepts these words.

    Examples
    --------
    >>> one_of("batch", "all").wanted
    'batch or all'
    """
    wanted = f"{', '.join(words[:-1])} or {words[-1]}"
    return Kind(wanted, lambda value: isinstance(value, str) and value in words, str, words)


_MOST = 2**31 - 1
#: States of a beam at most: more are no better, and as many take minutes for a long sentence.
MOST_BEAM = 4096

KINDS = {
    "positive": Kind("a positive number", lambda value: _is_number(value) and value > 0, float),
    "not negative": Kind("a number, 0 or more", lambda value: _is_number(value) and value >= 0, float),
    "share": Kind("a number from 0 to 1", lambda value: _is_number(value) and 0 <= value <= 1, float),
    "count": Kind(f"a whole number from 0 to {_MOST:,}", lambda value: _is_integer(value, 0, _MOST), int),
    "positive count": Kind(f"a whole number from 1 to {_MOST:,}", lambda value: _is_integer(value, 1, _MOST), int),
    "seed": Kind("a whole number from 0 to 2^64 - 1", lambda value: _is_integer(value, 0, 2**64 - 1), int),
    "hash bits": Kind("a whole number from 1 to 31", lambda value: _is_integer(value, 1, 31), int),
    "beam": Kind(f"a whole number from 1 to {MOST_BEAM:,}", lambda value: _is_integer(value, 1, MOST_BEAM), int),
    "switch": Kind("true or false", lambda value: isinstance(value, (bool, np.bool_)), bool),
}


def parameter(
    default: Any, kind: str | Kind, help: str, neutral: Any = None, *, native: bool = True, earlier: Any = None
) -> Any:
    """Declare a field of a `Configured` dataclass; the arguments are those of `Parameter`.

    `kind` is a key of `KINDS`, or what `one_of` returns.
    """
    metadata = {"kind": _kind(kind), "help": help, "neutral": neutral, "native": native, "earlier": earlier}
    return dataclasses.field(default=default, metadata=metadata)


def _kind(kind: str | Kind) -> Kind:
    return KINDS[kind] if isinstance(kind, str) else kind


def metavar_of(kind: Kind) -> str:
    """Return what stands for a value of this kind in help.

    Examples
    --------
    >>> metavar_of(KINDS["count"]), metavar_of(one_of("batch", "all"))
    ('N', 'batch|all')
    """
    return "|".join(kind.words) if kind.words else {float: "X", int: "N"}[kind.convert]


def option_name(parameter: str) -> str:
    """Return the option that sets a parameter.

    Examples
    --------
    >>> option_name("inner_passes")
    '--inner-passes'
    """
    return f"--{parameter.replace('_', '-')}"


def option_text(name: str, value: Any) -> str:
    """Return what gives a parameter that value on the command line.

    Examples
    --------
    >>> option_text("inner_passes", 2), option_text("averaged", False)
    ('--inner-passes 2', '--no-averaged')
    """
    if isinstance(value, bool):
        return option_name(name) if value else option_name(f"no_{name}")
    return f"{option_name(name)} {value:g}" if isinstance(value, float) else f"{option_name(name)} {value}"


def suggestion(name: Any, known: Collection[str]) -> str:
    """Return the known name that is close to one that is not known, in words; nothing if none is.

    Examples
    --------
    >>> suggestion("sweep", ["sweeps", "delta"])
    " (did you mean 'sweeps'?)"
    """
    close = difflib.get_close_matches(str(name), known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def listed(names: Sequence[str], last: str = "and") -> str:
    """Return names as one says them, `last` before the last one.

    Examples
    --------
    >>> listed(["C", "tol", "loss"])
    'C, tol and loss'
    """
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def checked(name: str, value: Any, kind: str | Kind) -> Any:
    """Return the value as a plain number, bool or str; raise `InputError`, in one sentence, if it is not of that kind.

    Examples
    --------
    >>> checked("C", np.float32(0.5), "positive")
    0.5
    """
    wanted = _kind(kind)
    if not wanted.accepts(value):
        raise InputError(f"{name} must be {wanted.wanted}, not {value!r}")
    return wanted.convert(value)


def check_costs(name: str, costs: ArrayLike | None) -> None:
    """Raise `InputError` if costs of wrong outputs are all 0.

    Examples
    --------
    >>> check_costs("label_costs", [0.0, 2.0])
    """
    if costs is not None and np.size(costs) > 1 and not np.any(costs):
        raise InputError(f"{name} is 0 everywhere: nothing would be wrong, and nothing learnt; give a cost above 0")


@dataclasses.dataclass(frozen=True)
class Configured:
    """Base of learners and engines: a frozen dataclass whose fields are declared with `parameter`."""

    name: ClassVar[str]
    #: What its C++ class is registered as, where that is not its name.
    native: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = checked(field.name, getattr(self, field.name), field.metadata["kind"])
            object.__setattr__(self, field.name, value)

    @classmethod
    def parameters(cls) -> Iterator[Parameter]:
        """Yield the declared parameters in order."""
        for field in dataclasses.fields(cls):
            yield Parameter(field.name, field.default, **field.metadata)

    @classmethod
    def native_name(cls) -> str:
        """Return what its C++ class is registered as."""
        return cls.native or cls.name

    def native_values(self) -> dict[str, Any]:
        """Return the parameters that its C++ class has too, by name."""
        return {parameter.name: getattr(self, parameter.name) for parameter in self.parameters() if parameter.native}


Declared: TypeAlias = dict[str, list[tuple[type[Configured], Parameter]]]


def declared(owners: Iterable[type[Configured]]) -> Declared:
    """Collect the parameters of learners or engines by name, each with those that have it."""
    found: Declared = {}
    for owner in owners:
        for parameter in owner.parameters():
            found.setdefault(parameter.name, []).append((owner, parameter))
    return found
