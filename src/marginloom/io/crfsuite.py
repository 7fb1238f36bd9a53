r"""CRFsuite's text format: one item a line, its label and then its attributes, a blank line between sequences.

Fields are separated by tabs. An attribute is ``name`` or ``name:value``; in names ``\:`` is a colon and ``\\`` a
backslash. ``@weight:X`` before a label, or on a line of its own, is the weight of the sequence.
"""

from __future__ import annotations

import dataclasses
import itertools
import operator
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marginloom import _core
from marginloom.common.parameters import checked
from marginloom.errors import InputError, InputWarning
from marginloom.io.compression import compressing_write
from marginloom.io.confidence import lines_with_confidence
from marginloom.io.files import StrPath, decode_utf8, read_bytes
from marginloom.io.formats import CRFSUITE
from marginloom.io.names import shown
from marginloom.io.stream_pieces import stream_pieces
from marginloom.labels.numbered import NumberedLabels
from marginloom.labels.written import written_labels

__all__ = [
    "NAME_SEPARATOR",
    "AttributeCorpus",
    "read_corpus",
    "read_crfsuite",
    "stream_corpora",
    "write_crfsuite",
]

#: Between the names of a nested feature, as python-crfsuite joins them.
NAME_SEPARATOR = ":"

Token: TypeAlias = "list[str] | dict[str, float]"
Sequences: TypeAlias = "list[list[Token]]"

_SEQUENCE_END = re.compile(rb"\n\r?\n")
_LARGEST = float(np.finfo(np.float32).max)
_UNFIT = re.compile(r"[\t\n\r]|^$")


@dataclasses.dataclass(frozen=True)
class AttributeCorpus:
    """Sequences of ready features from one or several files.

    Attributes
    ----------
    tables : list
        One per file.
    """

    tables: Sequence[_core.AttributeTable]

    @property
    def format(self) -> str:
        """The format's name."""
        return CRFSUITE

    @property
    def byte_count(self) -> int:
        """Size of the text."""
        return sum(table.memory for table in self.tables)

    @property
    def sentences(self) -> NDArray[np.uint64]:
        """Where the sequences begin and end, counted in items over all files."""
        return _joined_offsets([table.sentences() for table in self.tables])

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """Weights of the sequences; None if all are 1."""
        weights = np.concatenate([np.zeros(0), *(table.weights() for table in self.tables)])
        return None if (weights == 1).all() else weights

    def label_column(self, column: int | str | None) -> int:
        """Return the index of the first field, in which the labels always are."""
        if column not in (None, 1):
            raise InputError(f"in crfsuite's format the labels are the first field, so --column cannot be {column}")
        return 0

    def labels(self, column: int = 0, strings: bool | None = None) -> NumberedLabels:
        """Return the labels, as they are or as whole numbers; `InputError` if an item has none."""
        self.label_column(column + 1)
        seen = _core.Vocabulary()
        numbers = [np.zeros(0, dtype=np.uint32)]
        for table in self.tables:
            numbers.append(table.encode_labels(seen, grow=True))
            missing = seen.find("")
            unlabelled = np.flatnonzero(numbers[-1] == missing) if missing >= 0 else numbers[0]
            if unlabelled.size:
                raise InputError(
                    f"{table.name}, line {table.line_number(int(unlabelled[0]))}: found no label before the first tab, "
                    "expected the right one of the item"
                )
        return written_labels(NumberedLabels.of_vocabulary(seen, np.concatenate(numbers)), strings)

    def encode_attributes(
        self, vocabulary: _core.Vocabulary, grow: bool
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.float32] | None]:
        """Return sparse rows: offsets of the items, numbers of the attributes, and their values unless all are 1."""
        rows = [table.encode_attributes(vocabulary, grow) for table in self.tables]
        if len(rows) == 1:
            return rows[0].tokens, rows[0].features, rows[0].values
        tokens = _joined_offsets([part.tokens for part in rows])
        features = np.concatenate([np.zeros(0, dtype=np.uint32), *(part.features for part in rows)])
        if all(part.values is None for part in rows):
            return tokens, features, None
        values = [np.ones(part.features.size, np.float32) if part.values is None else part.values for part in rows]
        return tokens, features, np.concatenate(values)

    def with_labels(
        self, labels: _core.Vocabulary, numbers: NDArray[np.uint16], column: int | str | None, k: int = 1
    ) -> bytes:
        """Return the labels alone, one a line, with a blank line after every sequence, as CRFsuite does."""
        self.label_column(column)
        (table,) = self.tables
        return table.with_labels(labels, numbers)

    def with_confidence(
        self,
        labels: _core.Vocabulary,
        numbers: NDArray[np.integer],
        column: int | str | None,
        confidence: NDArray[np.float64],
    ) -> bytes:
        """Return the same as `with_labels` with the confidence in a comment."""
        self.label_column(column)
        return lines_with_confidence(labels, numbers, confidence, self.sentences)


def _joined_offsets(parts: Iterable[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    offsets = [np.zeros(1, dtype=np.uint64)]
    for part in parts:
        offsets.append(part[1:] + offsets[-1][-1])
    return np.concatenate(offsets)


def read_corpus(paths: Sequence[StrPath]) -> AttributeCorpus:
    """Read files, plain, .gz or .xz, each of which must have a sequence."""
    tables = [_parse(read_bytes(path, copies=4), shown(path)) for path in paths]
    for table in tables:
        if table.tokens == 0:
            raise InputError(
                f"{table.name}: found no sequence, expected one item a line, its label and then its attributes "
                "separated by tabs, with a blank line between sequences"
            )
    return AttributeCorpus(tables)


def stream_corpora(stream: BinaryIO, name: str) -> Iterator[AttributeCorpus]:
    """Yield a stream's sequences piece by piece, as soon as they are complete, in bounded memory."""
    for piece, line in stream_pieces(stream, _SEQUENCE_END):
        yield AttributeCorpus([_parse(piece, shown(name), line)])


def _parse(data: bytes, name: str, first_line: int = 1) -> _core.AttributeTable:
    text = decode_utf8(data, name, first_line).encode()
    try:
        return _core.AttributeTable(text, name, first_line)
    except ValueError as error:
        raise InputError(str(error)) from error


@overload
def read_crfsuite(path: StrPath, *, weights: Literal[False] = False) -> tuple[Sequences, list[list[str]]]: ...
@overload
def read_crfsuite(
    path: StrPath, *, weights: Literal[True]
) -> tuple[Sequences, list[list[str]], NDArray[np.float64]]: ...
def read_crfsuite(path: StrPath, *, weights: bool = False) -> tuple[Any, ...]:
    r"""Read a file in CRFsuite's format.

    Parameters
    ----------
    path : path
        The file, plain, .gz or .xz.
    weights : bool
        Whether to return the weights of the sequences too.

    Returns
    -------
    X : list of sequences
        Per item a list of the attributes' names if all values are 1, and else a dict from name to value, in which the
        values of an attribute that the item has several times are added up.
    y : list of lists of str
        The labels.
    sample_weight : array, if `weights` is true
        The weights, 1 where the file declares none. If it declares some and they are not asked for, there is an
        `InputWarning`.

    Raises
    ------
    InputError
        If the file cannot be read, has no sequence, or is not in the format; the message names the line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.crfsuite")
    ...     size = path.write_text("D\tw=the\tbias\nN\tw=dog\tlength:3\n\n")
    ...     read_crfsuite(path)
    ([[['w=the', 'bias'], {'w=dog': 1.0, 'length': 3.0}]], [['D', 'N']])
    """
    checked("weights", weights, "switch")
    corpus = read_corpus([path])
    (table,) = corpus.tables
    labels = corpus.labels().values().tolist()
    if corpus.weights is not None and not weights:
        warnings.warn(
            InputWarning(f"{table.name} declares weights of sequences, which are lost; take them with weights=True"),
            stacklevel=2,
        )
    tokens = [_token(table.attributes(token)) for token in range(table.tokens)]
    bounds = list(itertools.pairwise(corpus.sentences.tolist()))
    read = [tokens[start:end] for start, end in bounds], [labels[start:end] for start, end in bounds]
    return (*read, table.weights()) if weights else read


def _token(attributes: list[tuple[str, float]]) -> Token:
    if all(value == 1 for _, value in attributes):
        return [name for name, _ in attributes]
    summed: dict[str, float] = {}
    for name, value in attributes:
        summed[name] = summed.get(name, 0.0) + value
    return summed


def write_crfsuite(
    path: StrPath, X: Iterable[Iterable[Any]], y: Iterable[Iterable[Any]], *, sample_weight: ArrayLike | None = None
) -> None:
    r"""Write features and labels in CRFsuite's format.

    Parameters
    ----------
    path : path
        The file to write, in UTF-8, compressed if its name ends in .gz or .xz; it is replaced in one step.
    X : sequences
        Per item a list or set of strings or a dict from name to value, as `marginloom.SequenceTagger` takes them with
        ``features=None``. The names of what is nested are joined by colons, as python-crfsuite does: a string as a
        value makes an attribute ``name:value``. True and False are 1 and 0.
    y : sequences
        The labels, strings or whole numbers.
    sample_weight : array, optional
        A weight for every sequence.

    Raises
    ------
    InputError
        If X and y do not match, a sequence is empty, a name or label is empty or has a tab or line end in it, a label
        begins with @, two different features would get the same name, a value is not a finite number in the range of
        single precision, a weight is negative, or the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.crfsuite")
    ...     write_crfsuite(path, [[["w=12:30"], {"w": "dog", "length": 3}]], [["NUM", "NOUN"]])
    ...     path.read_text()
    'NUM\tw=12\\:30\nNOUN\tw\\:dog\tlength:3.0\n\n'
    """
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64).tolist()
    names = _AttributeNames()
    with compressing_write(path) as file:
        try:
            for index, (sentence, labels) in enumerate(itertools.zip_longest(X, y)):
                if sentence is None or labels is None:
                    raise InputError("X and y have different numbers of sequences; give labels for every one")
                where = f"sequence {index} (counted from 0)"
                if weights is not None:
                    file.write(_declaration(weights, index, where).encode())
                file.write(_sequence_text(list(sentence), list(labels), names, where).encode())
        except UnicodeEncodeError as error:
            raise InputError(f"a name or label cannot be written in UTF-8: {error}") from error


def _declaration(weights: list[float], index: int, where: str) -> str:
    if index >= len(weights) or not 0 <= weights[index] <= _LARGEST:
        found = f"the weight {weights[index]}" if index < len(weights) else "no weight"
        raise InputError(f"{where} has {found} in sample_weight; give every one a finite number that is not negative")
    return "" if weights[index] == 1 else f"@weight:{weights[index]!r}\n"


def _sequence_text(tokens: list[Any], labels: list[Any], names: _AttributeNames, where: str) -> str:
    if len(tokens) != len(labels) or not tokens:
        raise InputError(f"{where} has {len(tokens)} items and {len(labels)} labels; give the same number, at least 1")
    lines = []
    for token, label in zip(tokens, labels, strict=True):
        try:
            attributes = [names.written(path) + _suffix(path, value) for path, value in _features(token)]
            fields = [_label_field(label), *attributes]
        except (OverflowError, TypeError, ValueError) as error:
            raise InputError(f"{where}: {error}") from error
        lines.append("\t".join(fields) + "\n")
    return "".join([*lines, "\n"])


class _AttributeNames:
    """Names that attributes have in a file; `InputError` if two different features would have the same one."""

    def __init__(self) -> None:
        self._paths: dict[str, tuple[str, ...]] = {}

    def written(self, path: tuple[str, ...]) -> str:
        """Return the name of the feature to which these names lead."""
        name = NAME_SEPARATOR.join(path)
        if NAME_SEPARATOR in name and self._paths.setdefault(name, path) != path:
            raise InputError(
                f"the features {self._paths[name]} and {path} would both be called {name!r}; give one another name"
            )
        return _escaped(name)


def _features(token: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the features of an item, each by the names that lead to it, with its value."""
    if isinstance(token, Mapping):
        for name, value in token.items():
            longer = (*path, _as_text(name))
            if isinstance(value, (str, bytes)):
                yield (*longer, _as_text(value)), 1
            elif isinstance(value, (Mapping, list, tuple, set, frozenset)):
                yield from _features(value, longer)
            else:
                yield longer, value
    elif isinstance(token, (str, bytes)) or not isinstance(token, Iterable):
        raise TypeError(f"an item must be a list of strings or a dict of name and value, not {token!r}")
    else:
        names = [_as_text(name) for name in token]
        yield from (((*path, name), 1) for name in (sorted(names) if isinstance(token, (set, frozenset)) else names))


def _as_text(name: Any) -> str:
    if isinstance(name, bytes):
        return name.decode("utf-8")
    if not isinstance(name, str):
        raise TypeError(f"a name must be a string, not {name!r}")
    return name


def _label_field(label: Any) -> str:
    text = label if isinstance(label, str) else str(operator.index(label))
    if text.startswith("\ufeff"):
        raise ValueError("a label begins with a byte order mark, which readers drop; remove it")
    if text.startswith("@"):
        raise ValueError(f"the label {text!r} begins with @, which declares something in the format; replace it")
    return _escaped(text)


def _escaped(text: str) -> str:
    if _UNFIT.search(text):
        raise ValueError(f"{text!r} is empty or has a tab or line end in it, which the format cannot hold; replace it")
    return text.replace("\\", "\\\\").replace(":", "\\:")


def _suffix(path: tuple[str, ...], value: Any) -> str:
    number = float(value)
    if not abs(number) <= _LARGEST:
        name = NAME_SEPARATOR.join(path)
        raise ValueError(f"the value of {name!r} is {number}; it must be finite and within single precision")
    return "" if number == 1 else f":{number!r}"
