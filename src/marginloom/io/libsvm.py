"""LIBSVM's text format: one example a line, ``label index:value ...`` or ``label,label index:value ...``.

Indices count from 1 and rise; what is not named is 0. Labels are whole numbers or names. ``qid:N`` after them says to
which group an example belongs. What follows a ``#`` is passed over, and so are lines without a field.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.memory import require_memory
from marginloom.common.parameters import checked
from marginloom.errors import InputError, InputWarning
from marginloom.io.compression import compressing_write
from marginloom.io.files import StrPath, decode_utf8, read_bytes
from marginloom.io.names import quoted, shown
from marginloom.io.stream_pieces import stream_pieces
from marginloom.labels.arrays import label_array, plain_labels
from marginloom.labels.numbered import NumberedLabels, NumberedSets
from marginloom.labels.written import whole_number

__all__ = ["LibsvmRows", "parse", "read_libsvm", "read_rows", "stream_rows", "write_libsvm"]

_LINE_END = re.compile(rb"\n")
_UNFIT = re.compile(r"[ \t\n\r\v\f,:#\ud800-\udfff]|^\ufeff|^$")  # a byte order mark that begins a file is dropped
_LAST_COLUMN = 2**31 - 2
_ROWS_AT_A_TIME = 4096
_PART_BYTES = 1 << 24  # of a text to be looked through, so that Ctrl-C is heard meanwhile
_ENTRY_BYTES = 2 * (4 + 8)  # arrays that grow are there twice when they move


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
    groups : array
        The number after ``qid:`` of each example, -1 where there is none.
    """

    name: str
    offsets: NDArray[np.uint64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    label_offsets: NDArray[np.uint64]
    label_numbers: NDArray[np.uint32]
    label_names: list[str]
    lines: NDArray[np.uint64]
    groups: NDArray[np.int64]

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

        width = self.n_features if n_features is None else checked("n_features", n_features, "count")
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

    def labels(self, strings: bool | None = None) -> NumberedLabels:
        """Return the labels of all examples in a row: whole numbers if all are, or names.

        Parameters
        ----------
        strings : bool, optional
            True to take them as names in any case, False to take them as numbers; names then raise `InputError`.
        """
        numbers = None if strings else self._whole_numbers(required=strings is False)
        if numbers is None:
            return NumberedLabels(np.array(self.label_names, dtype=object), self.label_numbers)
        together = NumberedLabels.of(numbers)  # 1 and +1 are written differently and the same
        return NumberedLabels(together.names, together.numbers[self.label_numbers])

    @property
    def has_names(self) -> bool:
        """Whether a label is a name and not a whole number, so that all of them are taken as names."""
        return self._whole_numbers(required=False) is None

    def single_labels(self, strings: bool | None = None) -> NumberedLabels:
        """Return the one label of every example; `InputError`, with the line, where there is not one."""
        counts = np.diff(self.label_offsets.astype(np.int64))
        wrong = np.flatnonzero(counts != 1)
        if wrong.size:
            found = "no label" if counts[wrong[0]] == 0 else f"{counts[wrong[0]]} labels"
            several = "; several labels per example need 'marginloom train multilabel' (multilabel=True in Python)"
            raise InputError(
                f"{self.place(int(wrong[0]))}: found {found}, expected one before the first index:value"
                f"{several if counts[wrong[0]] else ''}"
            )
        return self.labels(strings)

    def label_sets(self, strings: bool | None = None) -> NumberedSets:
        """Return the labels of every example, of which there may be none."""
        return NumberedSets(self.labels(strings), self.label_offsets)

    def _whole_numbers(self, required: bool) -> NDArray[Any] | None:
        numbers = []
        for place, label in enumerate(self.label_names):
            try:
                number = whole_number(label)
                if number is None and required:
                    raise InputError(f"found the label {label!r}, expected a whole number")
            except InputError as error:
                raise InputError(f"{self._place_of_label(place)}: {error}") from None
            numbers.append(number)
        return None if None in numbers else plain_labels(numbers)

    def _place_of_label(self, place: int) -> str:
        first = int(np.flatnonzero(self.label_numbers == place)[0])
        return self.place(int(np.searchsorted(self.label_offsets, first, side="right")) - 1)

    def place(self, example: int) -> str:
        """Name the file and the line of an example."""
        return f"{self.name}, line {self.lines[example]}"


def parse(data: bytes, name: str, first_line: int = 1) -> LibsvmRows:
    r"""Parse text; `InputError` names the file and the line of what is wrong with it.

    Examples
    --------
    >>> rows = parse(b"2 1:0.5 3:1\n1,2 2:4\n", "example")
    >>> rows.label_sets().lists(), rows.matrix().toarray().tolist()
    ([[2], [1, 2]], [[0.5, 0.0, 1.0], [0.0, 4.0, 0.0]])
    """
    if not data.isascii():
        data = decode_utf8(data, name, first_line).encode()
    try:
        table = _core.parse_libsvm(data, name, first_line)
    except ValueError as error:
        raise InputError(str(error)) from error
    return LibsvmRows(
        name=name,
        offsets=table.offsets,
        indices=table.indices,
        values=table.values,
        label_offsets=table.label_offsets,
        label_numbers=table.label_numbers,
        label_names=table.label_names,
        lines=table.lines,
        groups=table.groups,
    )


def read_rows(path: StrPath) -> LibsvmRows:
    """Read a file, plain, .gz or .xz, which must have an example."""
    name = shown(path)
    data = read_bytes(path)
    entries = sum(data.count(b":", start, start + _PART_BYTES) for start in range(0, len(data), _PART_BYTES))
    require_memory(f"parsing {quoted(path)}", {"entries": _ENTRY_BYTES * entries}, "give a part of it")
    rows = parse(data, name)
    if len(rows) == 0:
        raise InputError(f"{name}: found no example, expected one a line, as in '3 1:0.5 7:1'")
    return rows


def stream_rows(stream: BinaryIO, name: str) -> Iterator[tuple[LibsvmRows, int]]:
    """Yield a stream's examples piece by piece, as lines come, with the size of each piece in bytes."""
    for piece, line in stream_pieces(stream, _LINE_END):
        yield parse(piece, shown(name), line), len(piece)


def read_libsvm(
    path: StrPath,
    *,
    n_features: int | None = None,
    multilabel: bool | Literal["indicator"] = False,
    classes: Sequence[Any] | None = None,
) -> tuple[Any, Any]:
    r"""Read examples with their labels.

    Parameters
    ----------
    path : path
        The file, plain, .gz or .xz.
    n_features : int, optional
        How many features there are, as in the training file; what lies beyond is left out with a warning. By default
        the largest index.
    multilabel : bool or "indicator"
        Whether an example may have several labels, or none: True for a list of labels per example, ``"indicator"`` for
        a sparse 0/1 matrix, as scikit-learn takes it.
    classes : sequence, optional
        The labels of the indicator matrix's columns, so that several files get the same columns. Other labels in the
        file are left out with a warning. By default all labels of the file, sorted.

    Returns
    -------
    X : CSR matrix
        The examples.
    y : array, list of lists, or CSR matrix
        The labels: whole numbers, or strings if not all of them are. An array is of int64 or uint64, whichever holds
        all the numbers, else of objects.

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
    if not isinstance(multilabel, (bool, np.bool_)) and not (isinstance(multilabel, str) and multilabel == "indicator"):
        raise InputError(f"multilabel must be true or false, not {multilabel!r}; or 'indicator', for a 0/1 matrix")
    if classes is not None and multilabel != "indicator":
        raise InputError("classes names the columns of an indicator matrix; give it with multilabel='indicator'")
    rows = read_rows(path)
    n_features = None if n_features is None else checked("n_features", n_features, "count")
    beyond = 0 if n_features is None else rows.count_beyond(n_features)
    if beyond:
        warnings.warn(f"{rows.name}: {beyond_text(beyond, n_features)}", stacklevel=2)
    X = rows.matrix(n_features)
    if not multilabel:
        return X, rows.single_labels().values()
    if multilabel != "indicator":
        return X, rows.label_sets().lists()
    indicators, unknown = rows.label_sets().indicators(classes)
    if unknown:
        warnings.warn(
            InputWarning(
                f"{rows.name}: {len(unknown)} labels are not in classes and are left out, such as {unknown[0]!r}"
            ),
            stacklevel=2,
        )
    return X, indicators


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
    r"""Write examples with their labels, so that `read_libsvm` gives the same numbers and labels.

    The number of columns is not in the file: give ``n_features=X.shape[1]`` to `read_libsvm`, in case that the last
    ones are empty.

    Parameters
    ----------
    path : path
        The file to write; it is replaced in one step, and compressed if its name ends in .gz or .xz.
    X : sparse matrix or array of shape (examples, features)
        The examples. Values are written with all the digits that their type needs: those in double precision are read
        as they are, to the bit, and so are those in single precision if they are turned into float32 again. Zeros are
        left out, unless they are negative.
    y : sequence
        For every example its label, or a list of labels: all whole numbers, or all strings.

    Raises
    ------
    InputError
        If X and y do not match, X is not finite or has numbers that double precision cannot hold, a label cannot be
        written such that the same is read, or the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.svm")
    ...     write_libsvm(path, [[0.5, 0, 1], [0, 4, 0]], [2, [1, 2]])
    ...     path.read_text()
    '2 1:0.5 3:1\n1,2 2:4\n'
    """
    fields = _label_fields(y)
    offsets, indices, values = _entries(X)
    if len(offsets) - 1 != len(fields):
        raise InputError(f"X has {len(offsets) - 1} examples, and y has {len(fields)}")
    with compressing_write(path) as file:
        for start in range(0, len(fields), _ROWS_AT_A_TIME):
            bounds = offsets[start : start + _ROWS_AT_A_TIME + 1]
            part = slice(int(bounds[0]), int(bounds[-1]))
            labels = fields[start : start + _ROWS_AT_A_TIME]
            file.write(_core.format_libsvm(labels, bounds - bounds[0], indices[part], values[part]))


def _entries(X: Any) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[Any]]:
    """Return where the rows begin, columns and values of a matrix, without zeros, but with those that are negative."""
    try:
        if hasattr(X, "tocsr"):
            from scipy.sparse import csr_matrix

            matrix = csr_matrix(X, copy=True)
            matrix.sum_duplicates()
            kept = _is_written(matrix.data)
            offsets = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr]
            indices, values = matrix.indices[kept], matrix.data[kept]
        else:
            array = np.atleast_2d(np.asarray(X))
            if array.ndim != 2:
                raise ValueError(f"it is an array of {array.ndim} dimensions")
            kept = _is_written(array)
            rows, indices = np.nonzero(kept)
            offsets = np.searchsorted(rows, np.arange(array.shape[0] + 1))
            values = array[kept]
        values = _as_floats(values)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"X must be a matrix of numbers: {error}") from error
    if not np.isfinite(values).all():
        raise InputError("X has a value that is NaN or infinite, which the format cannot hold")
    if indices.size and indices.max() > _LAST_COLUMN:
        raise InputError(f"X has an entry in column {indices.max()}, and the format ends at column {_LAST_COLUMN}")
    return offsets.astype(np.uint64), indices.astype(np.int32), values


def _is_written(values: NDArray[Any]) -> NDArray[np.bool_]:
    negative = np.signbit(values) if values.dtype.kind == "f" else False
    return np.asarray((values != 0) | negative)


def _as_floats(values: NDArray[Any]) -> NDArray[Any]:
    """Return values in single precision if they are in it, else in double; `InputError` if that changes one."""
    if values.dtype == np.float32:
        return values
    if values.dtype.kind not in "biufO":
        raise InputError(f"X must be a matrix of numbers, not of {values.dtype}")
    doubles = values.astype(np.float64)
    # As objects they are compared exactly; numpy would compare whole numbers in double precision.
    suspect = np.isfinite(doubles) & ((np.abs(doubles) >= 2**53) | (values.dtype.char in "gO"))
    changed = np.flatnonzero(doubles[suspect].astype(object) != values[suspect].astype(object))
    if changed.size:
        raise InputError(f"X has the value {values[suspect][changed[0]]}, which double precision cannot hold")
    return doubles


def _label_fields(y: Iterable[Any]) -> list[str]:
    """Return the labels of every example as they are written: such that reading gives the same labels."""
    several = (list, tuple, set, frozenset, np.ndarray)
    sets = [list(labels) if isinstance(labels, several) else [labels] for labels in y]
    labels = label_array([label for members in sets for label in members]).tolist()
    bounds = itertools.pairwise(itertools.accumulate(map(len, sets), initial=0))
    fields = [_label_field(labels[start:end], example) for example, (start, end) in enumerate(bounds)]
    names = {label for label in labels if isinstance(label, str)}
    if names and all(whole_number(name) is not None for name in names):
        raise InputError(
            f"all labels are strings that are read as whole numbers, such as {min(names)!r}; give them as whole numbers"
        )
    return fields


def _label_field(labels: list[Any], example: int) -> str:
    texts = [_label_text(label, example) for label in labels]
    if len(set(texts)) < len(texts):
        raise InputError(f"the labels of example {example} are {', '.join(texts)}; give every label once")
    return ",".join(texts)


def _label_text(label: Any, example: int) -> str:
    whole = not isinstance(label, str) and float(label).is_integer()
    text = str(int(label)) if whole else str(label)
    try:
        whole_number(text)
        fits = not _UNFIT.search(text)
    except InputError:
        fits = False
    if not fits:
        raise InputError(
            f"the label {label!r} of example {example} cannot be written: expected a whole number of 64 bits, or a "
            "name without blanks, commas, colons and #, which is no other number"
        )
    return text
