"""LIBSVM's text format: one example a line, ``label index:value ...`` or ``label,label index:value ...``.

Indices count from 1 and rise; what is not named is 0. Labels are whole numbers or names. ``qid:`` and what follows a
``#`` are passed over, and so are lines without a field.
"""

from __future__ import annotations

import dataclasses
import itertools
import numbers
import os
import re
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.errors import InputError
from marginloom.io.files import StrPath, atomic_write, decode_utf8, read_bytes, stream_pieces

__all__ = ["LibsvmRows", "parse", "read_libsvm", "read_rows", "stream_rows", "write_libsvm"]

_LINE_END = re.compile(rb"\n")
_LABEL_LIMIT = 2**63
_UNFIT = re.compile(r"[\s,:#]|^$")
_ROWS_AT_A_TIME = 4096


@dataclasses.dataclass(frozen=True)
class LibsvmRows:
    """Examples of a file, or of a piece of one.

    Attributes
    ----------
    name : str
        The file.
    offsets, indices, values : array
        Where the entries of each example begin; their columns, from 0; their values.
    label_offsets, label_numbers : array
        Where the labels of each example begin; their places in `label_names`.
    label_names : list of str
        The labels as they are written, each once.
    lines : array
        The line of each example.
    """

    name: str
    offsets: NDArray[np.uint64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    label_offsets: NDArray[np.uint64]
    label_numbers: NDArray[np.uint32]
    label_names: list[str]
    lines: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def n_features(self) -> int:
        """The largest index that occurs."""
        return int(self.indices.max()) + 1 if self.indices.size else 0

    def count_beyond(self, n_features: int) -> int:
        """Count the entries with a larger index than there are features."""
        return int(np.count_nonzero(self.indices >= n_features))

    def matrix(self, n_features: int | None = None) -> Any:
        """Return the entries as a CSR matrix, with so many columns; entries beyond them are left out."""
        from scipy.sparse import csr_matrix

        width = self.n_features if n_features is None else n_features
        offsets, indices, values = self.offsets, self.indices, self.values
        if self.count_beyond(width):
            kept = indices < width
            offsets = np.concatenate([[0], np.cumsum(kept)])[offsets]
            indices, values = indices[kept], values[kept]
        narrow = np.int32 if values.size < 2**31 else np.int64  # scipy wants the same type for both
        matrix = csr_matrix((len(self), width), dtype=np.float64)
        matrix.indptr, matrix.indices, matrix.data = offsets.astype(narrow), indices.astype(narrow, copy=False), values
        matrix.has_canonical_format = True
        return matrix

    def label_values(self, strings: bool | None = None) -> NDArray[Any]:
        """Return the labels of all examples in a row: whole numbers if all are, or names.

        Parameters
        ----------
        strings : bool, optional
            True to take them as names in any case, False to take them as numbers; names then raise `InputError`.
        """
        numbers = None if strings else self._whole_numbers(required=strings is False)
        if numbers is None:
            return np.array(self.label_names, dtype=object)[self.label_numbers]
        return numbers[self.label_numbers]

    def single_labels(self, strings: bool | None = None) -> NDArray[Any]:
        """Return the one label of every example; `InputError`, with the line, where there is not one."""
        counts = np.diff(self.label_offsets.astype(np.int64))
        wrong = np.flatnonzero(counts != 1)
        if wrong.size:
            found = "no label" if counts[wrong[0]] == 0 else f"{counts[wrong[0]]} labels"
            raise InputError(f"{self._place(int(wrong[0]))}: found {found}, expected one before the first index:value")
        return self.label_values(strings)

    def label_lists(self, strings: bool | None = None) -> list[list[Any]]:
        """Return the labels of every example, of which there may be none."""
        values = self.label_values(strings).tolist()
        return [values[start:end] for start, end in itertools.pairwise(self.label_offsets.tolist())]

    def _whole_numbers(self, required: bool) -> NDArray[np.int64] | None:
        numbers = []
        names = False
        for place, label in enumerate(self.label_names):
            try:
                number = float(label)
            except ValueError:
                if required:
                    raise InputError(
                        f"{self._place_of_label(place)}: found the label {label!r}, expected a whole number"
                    ) from None
                names = True
                continue
            if not (number.is_integer() and abs(number) < _LABEL_LIMIT):
                raise InputError(
                    f"{self._place_of_label(place)}: found the label {label!r}, expected a whole number or a name"
                )
            numbers.append(int(number))
        return None if names else np.array(numbers, dtype=np.int64)

    def _place_of_label(self, place: int) -> str:
        first = int(np.flatnonzero(self.label_numbers == place)[0])
        return self._place(int(np.searchsorted(self.label_offsets, first, side="right")) - 1)

    def _place(self, example: int) -> str:
        return f"{self.name}, line {self.lines[example]}"


def parse(data: bytes, name: str, first_line: int = 1) -> LibsvmRows:
    r"""Parse text; `InputError` names the file and the line of what is wrong with it.

    Examples
    --------
    >>> rows = parse(b"2 1:0.5 3:1\n1,2 2:4\n", "example")
    >>> rows.label_lists(), rows.matrix().toarray().tolist()
    ([[2], [1, 2]], [[0.5, 0.0, 1.0], [0.0, 4.0, 0.0]])
    """
    if not data.isascii():
        data = decode_utf8(data, name, first_line).encode()
    try:
        return LibsvmRows(name, *_core.parse_libsvm(data, name, first_line))
    except ValueError as error:
        raise InputError(str(error)) from error


def read_rows(path: StrPath) -> LibsvmRows:
    """Read a file, plain, .gz or .xz, which must have an example."""
    name = os.fspath(path)
    rows = parse(read_bytes(path), name)
    if len(rows) == 0:
        raise InputError(f"{name}: found no example, expected one a line, as in '3 1:0.5 7:1'")
    return rows


def stream_rows(stream: BinaryIO, name: str) -> Iterator[tuple[LibsvmRows, int]]:
    """Yield a stream's examples piece by piece, as lines come, with the size of each piece in bytes."""
    for piece, line in stream_pieces(stream, _LINE_END):
        yield parse(piece, name, line), len(piece)


def read_libsvm(path: StrPath, *, n_features: int | None = None, multilabel: bool = False) -> tuple[Any, Any]:
    r"""Read examples with their labels.

    Parameters
    ----------
    path : path
        The file, plain, .gz or .xz.
    n_features : int, optional
        How many features there are, as in the training file; what lies beyond is left out with a warning. By default
        the largest index.
    multilabel : bool
        Whether an example may have several labels, or none.

    Returns
    -------
    X : CSR matrix
        The examples.
    y : array, or list of lists where there may be several labels
        The labels: whole numbers, or strings if not all of them are.

    Raises
    ------
    InputError
        If the file cannot be read, or a line is not as the format wants it; the message names the line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.svm")
    ...     size = path.write_text("2 1:0.5 3:1\n1 2:4\n")
    ...     X, y = read_libsvm(path)
    >>> X.toarray().tolist(), y.tolist()
    ([[0.5, 0.0, 1.0], [0.0, 4.0, 0.0]], [2, 1])
    """
    rows = read_rows(path)
    beyond = 0 if n_features is None else rows.count_beyond(n_features)
    if beyond:
        warnings.warn(f"{rows.name}: {beyond_text(beyond, n_features)}", stacklevel=2)
    return rows.matrix(n_features), rows.label_lists() if multilabel else rows.single_labels()


def beyond_text(count: int, n_features: int | None) -> str:
    """Say that entries have been left out because training did not see their features.

    Examples
    --------
    >>> beyond_text(2, 16)
    '2 entries with an index beyond the 16 features of the training data are ignored'
    """
    subject = "1 entry with an index" if count == 1 else f"{count} entries with an index"
    return f"{subject} beyond the {n_features} features of the training data {'is' if count == 1 else 'are'} ignored"


def write_libsvm(path: StrPath, X: Any, y: Iterable[Any]) -> None:
    r"""Write examples with their labels.

    Parameters
    ----------
    path : path
        The file to write; it is replaced in one step.
    X : sparse matrix or array of shape (examples, features)
        The examples; values are written so that reading gives the same numbers, and zeros are left out.
    y : sequence
        For every example its label, a whole number or a string, or a list of labels.

    Raises
    ------
    InputError
        If X and y do not match, X is not finite, a label cannot be written, or the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.svm")
    ...     write_libsvm(path, [[0.5, 0, 1], [0, 4, 0]], [2, [1, 2]])
    ...     path.read_text()
    '2 1:0.5 3:1\n1,2 2:4\n'
    """
    from scipy.sparse import csr_matrix

    try:
        matrix = csr_matrix(X, copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        values = matrix.data if matrix.data.dtype == np.float32 else matrix.data.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"X must be a matrix of numbers: {error}") from error
    fields = [_label_field(labels, i) for i, labels in enumerate(y)]
    if matrix.shape[0] != len(fields):
        raise InputError(f"X has {matrix.shape[0]} examples, and y has {len(fields)}")
    if not np.isfinite(values).all():
        raise InputError("X has a value that is NaN or infinite, which the format cannot hold")
    indices, offsets = matrix.indices.astype(np.int32, copy=False), matrix.indptr.astype(np.uint64)
    with atomic_write(path) as file:
        for start in range(0, len(fields), _ROWS_AT_A_TIME):
            bounds = offsets[start : start + _ROWS_AT_A_TIME + 1]
            part = slice(int(bounds[0]), int(bounds[-1]))
            labels = fields[start : start + _ROWS_AT_A_TIME]
            file.write(_core.format_libsvm(labels, bounds - bounds[0], indices[part], values[part]))


def _label_field(labels: Any, example: int) -> str:
    several: Iterable[Any] = labels if isinstance(labels, (list, tuple, set, frozenset, np.ndarray)) else [labels]
    fields = []
    for label in several:
        whole = isinstance(label, numbers.Real) and float(label).is_integer()
        field = str(int(label)) if whole else label
        if not isinstance(field, str) or _UNFIT.search(field):
            raise InputError(
                f"the label {label!r} of example {example} cannot be written: expected a whole number, or a name "
                "without blanks, commas, colons and #"
            )
        fields.append(field)
    return ",".join(fields)
