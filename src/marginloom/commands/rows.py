"""What commands share of the tasks whose examples are rows of numbers, in LIBSVM's format."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np
import typer

from marginloom.commands.common import note
from marginloom.commands.help import FEATURES
from marginloom.commands.task_commands import PredictOptions, streams
from marginloom.common.memory import require_memory
from marginloom.errors import InputError
from marginloom.io.libsvm import LibsvmRows, beyond_text, read_rows, stream_rows
from marginloom.io.names import shown
from marginloom.labels.written import whole_number

FitInterceptOption = Annotated[
    bool,
    typer.Option(
        "--fit-intercept/--no-fit-intercept", help="Learn an intercept for every label.", rich_help_panel=FEATURES
    ),
]
InterceptScalingOption = Annotated[
    float,
    typer.Option(
        "--intercept-scaling",
        metavar="X",
        help="Scale of the intercept; larger values regularize it less. The intercept is the weight of a constant "
        "feature with value X, multiplied by X.",
        rich_help_panel=FEATURES,
    ),
]

_COUNT_BYTES = 8 + 1  # of a feature, and whether it is rare
_DENSE_FROM = 0.5  # share of entries that are not 0 from which a plain array is smaller and faster


@dataclasses.dataclass(frozen=True)
class TrainingRows:
    """Examples of the training files.

    Attributes
    ----------
    files : list
        What was read, with the labels.
    X : matrix
        The examples of all files.
    strings : bool
        Whether labels are names: they are numbers only if they are in all files.
    """

    files: list[LibsvmRows]
    X: Any
    strings: bool

    @classmethod
    def read(cls, paths: Sequence[str], min_count: int = 1) -> TrainingRows:
        """Read files; features that fewer examples have than `min_count` are 0 everywhere, and so get no weight."""
        from scipy.sparse import vstack

        files = [read_rows(path) for path in paths]
        width = max(rows.n_features for rows in files)
        matrices = [rows.matrix(width) for rows in files]
        X = matrices[0] if len(matrices) == 1 else vstack(matrices, format="csr")
        if min_count > 1:
            require_memory("counting features", {"counts": _COUNT_BYTES * width}, "train without --min-count")
            rare = np.bincount(X.indices[X.data != 0], minlength=width) < min_count
            X.data[rare[X.indices]] = 0
            X.eliminate_zeros()
        return cls(files, _compact(X), strings=any(rows.has_names for rows in files))

    def label(self, name: str) -> Any:
        """Return a label that a user has named as the training data has it."""
        if self.strings:
            return name
        number = whole_number(name)
        if number is None:
            raise InputError(f"the labels of the training data are whole numbers, and {name!r} is none")
        return number


def rows_to_score(rows: LibsvmRows, n_features: int, quiet: bool = False) -> Any:
    """Return the examples as a model with so many features takes them, and say what had to be left out."""
    beyond = rows.count_beyond(n_features)
    if beyond:
        note(f"{rows.name}: {beyond_text(beyond, n_features)}", quiet)
    return _compact(rows.matrix(n_features))


def predict_rows(options: PredictOptions, n_features: int, lines: Callable[[Any], str]) -> None:
    """Predict for the examples of a file or pipe as they come; `lines` gives the text for a matrix of them."""
    beyond = 0
    with streams(options) as (stream, out, advance):
        for rows, byte_count in stream_rows(stream, options.input):
            out.write(lines(rows.matrix(n_features)).encode())
            out.flush()
            advance(byte_count)
            beyond += rows.count_beyond(n_features)
    if beyond:
        note(f"{shown(options.input)}: {beyond_text(beyond, n_features)}")


def k_best_fields(outputs: Sequence[str], scores: Sequence[float], probabilities: Sequence[float] | None) -> list[str]:
    """Return outputs as the fields of a line, each followed by its score, and by its probability if there are some.

    Examples
    --------
    >>> k_best_fields(["a"], [1.5], None), k_best_fields(["a"], [1.5], [0.9])
    (['a', '1.5'], ['a', '1.5', '0.9'])
    """
    numbers = [scores] if probabilities is None else [scores, probabilities]
    return [
        field
        for output, *values in zip(outputs, *numbers, strict=True)
        for field in (output, *(f"{value:.6g}" for value in values))
    ]


def describe_features(n_features: int, bias: float) -> tuple[str, str]:
    """Return the line of `inspect` on features and intercepts.

    Examples
    --------
    >>> describe_features(16, 1.0)
    ('features', '16 and an intercept (scaling 1)')
    """
    intercept = f"and an intercept (scaling {bias:g})" if bias else "without an intercept"
    return "features", f"{n_features} {intercept}"


#: What `inspect` says of the names of features.
LEGEND = "A number is the index of a feature in LIBSVM files; feature 1 is column 0 of X in Python."


def _compact(X: Any) -> Any:
    if X.nnz < _DENSE_FROM * X.shape[0] * X.shape[1]:
        return X
    size = X.data.itemsize * X.shape[0] * X.shape[1]
    require_memory("a dense array of the examples", {"array": size}, "give fewer examples")
    return X.toarray()
