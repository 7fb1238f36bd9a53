r"""CRFsuite's text format: one item a line, its label and then its attributes, a blank line between sequences.

Fields are separated by tabs. An attribute is ``name`` or ``name:value``; in names ``\:`` is a colon and ``\\`` a
backslash.
"""

from __future__ import annotations

import dataclasses
import itertools
import operator
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, TextIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.errors import InputError
from marginloom.io.files import StrPath, atomic_write, decode_utf8, read_bytes, stream_pieces
from marginloom.io.formats import CRFSUITE

__all__ = ["AttributeCorpus", "read_corpus", "read_crfsuite", "stream_corpora", "write_crfsuite"]

Token: TypeAlias = "list[str] | dict[str, float]"

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
        return sum(table.bytes for table in self.tables)

    @property
    def sentences(self) -> NDArray[np.uint64]:
        """Where the sequences begin and end, counted in items over all files."""
        return _joined_offsets([table.sentences() for table in self.tables])

    def label_column(self, column: int | None) -> int:
        """Return the index of the first field, in which the labels always are."""
        if column not in (None, 1):
            raise InputError(f"in crfsuite's format the labels are the first field, so --column cannot be {column}")
        return 0

    def encode_column(self, vocabulary: _core.Vocabulary, column: int, grow: bool) -> NDArray[np.uint32]:
        """Return the numbers of the labels in a vocabulary; `InputError` if an item has none."""
        self.label_column(column + 1)
        numbers = [np.zeros(0, dtype=np.uint32)]
        for table in self.tables:
            numbers.append(table.encode_labels(vocabulary, grow))
            missing = vocabulary.find("")
            unlabelled = np.flatnonzero(numbers[-1] == missing) if missing >= 0 else numbers[0]
            if unlabelled.size:
                raise InputError(
                    f"{table.name}, line {table.line_number(int(unlabelled[0]))}: found no label before the first tab, "
                    "expected the right one of the item"
                )
        return np.concatenate(numbers)

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

    def with_labels(self, labels: _core.Vocabulary, numbers: NDArray[np.uint16], column: int, k: int = 1) -> bytes:
        """Return the labels alone, one a line, with a blank line after every sequence, as CRFsuite does."""
        self.label_column(column + 1)
        (table,) = self.tables
        return table.with_labels(labels, numbers)


def _joined_offsets(parts: Iterable[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    offsets = [np.zeros(1, dtype=np.uint64)]
    for part in parts:
        offsets.append(part[1:] + offsets[-1][-1])
    return np.concatenate(offsets)


def read_corpus(paths: Sequence[StrPath]) -> AttributeCorpus:
    """Read files, plain, .gz or .xz, each of which must have a sequence."""
    tables = [_parse(read_bytes(path, copies=4), os.fspath(path)) for path in paths]
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
        yield AttributeCorpus([_parse(piece, name, line)])


def _parse(data: bytes, name: str, first_line: int = 1) -> _core.AttributeTable:
    text = decode_utf8(data, name, first_line).encode()
    try:
        return _core.AttributeTable(text, name, first_line)
    except ValueError as error:
        raise InputError(str(error)) from error


def read_crfsuite(path: StrPath) -> tuple[list[list[Token]], list[list[str]]]:
    r"""Read a file in CRFsuite's format.

    Parameters
    ----------
    path : path
        The file, plain, .gz or .xz.

    Returns
    -------
    X : list of sequences
        Per item a list of the attributes' names if all values are 1, and else a dict from name to value, in which the
        values of an attribute that the item has several times are added up.
    y : list of lists of str
        The labels.

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
    corpus = read_corpus([path])
    (table,) = corpus.tables
    seen = _core.Vocabulary()
    numbers = corpus.encode_column(seen, 0, grow=True)
    names = [seen.name(number) for number in range(len(seen))]
    labels = [names[number] for number in numbers.tolist()]
    tokens = [_token(table.attributes(token)) for token in range(table.tokens)]
    bounds = list(itertools.pairwise(corpus.sentences.tolist()))
    return [tokens[start:end] for start, end in bounds], [labels[start:end] for start, end in bounds]


def _token(attributes: list[tuple[str, float]]) -> Token:
    if all(value == 1 for _, value in attributes):
        return [name for name, _ in attributes]
    summed: dict[str, float] = {}
    for name, value in attributes:
        summed[name] = summed.get(name, 0.0) + value
    return summed


def write_crfsuite(path: StrPath, X: Iterable[Iterable[Any]], y: Iterable[Iterable[Any]]) -> None:
    r"""Write features and labels in CRFsuite's format.

    Parameters
    ----------
    path : path
        The file to write, in UTF-8; it is replaced in one step.
    X : sequences
        Per item a list of strings or a dict from name to value, as `marginloom.SequenceTagger` takes them with
        ``features=None``: strings as values make an attribute ``name=value``, True and False are 1 and 0.
    y : sequences
        The labels, strings or whole numbers.

    Raises
    ------
    InputError
        If X and y do not match, a sequence is empty, a name or label is empty or has a tab or line end in it, a value
        is not a finite number in the range of single precision, or the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.crfsuite")
    ...     write_crfsuite(path, [[["w=12:30"], {"w": "dog", "length": 3}]], [["NUM", "NOUN"]])
    ...     path.read_text()
    'NUM\tw=12\\:30\nNOUN\tw=dog\tlength:3.0\n\n'
    """
    with atomic_write(path, "w") as file:
        try:
            for index, (sentence, labels) in enumerate(itertools.zip_longest(X, y)):
                if sentence is None or labels is None:
                    raise InputError("X and y have different numbers of sequences; give labels for every one")
                _write_sequence(file, list(sentence), list(labels), f"sequence {index} (counted from 0)")
        except UnicodeEncodeError as error:
            raise InputError(f"a name or label cannot be written in UTF-8: {error}") from error


def _write_sequence(file: TextIO, tokens: list[Any], labels: list[Any], where: str) -> None:
    if len(tokens) != len(labels) or not tokens:
        raise InputError(f"{where} has {len(tokens)} items and {len(labels)} labels; give the same number, at least 1")
    for token, label in zip(tokens, labels, strict=True):
        if isinstance(label, str) and label.startswith("\ufeff"):
            raise InputError(f"{where}: a label begins with a byte order mark, which readers drop; remove it")
        try:
            fields = [_escaped(label if isinstance(label, str) else str(operator.index(label))), *_attributes(token)]
        except (OverflowError, TypeError, ValueError) as error:
            raise InputError(f"{where}: {error}") from error
        file.write("\t".join(fields) + "\n")
    file.write("\n")


def _attributes(token: Any) -> Iterator[str]:
    if isinstance(token, Mapping):
        for name, value in token.items():
            yield _escaped(f"{name}={value}") if isinstance(value, str) else _escaped(name) + _suffix(name, value)
    elif isinstance(token, str) or not isinstance(token, Iterable):
        raise TypeError(f"an item must be a list of strings or a dict of name and value, not {token!r}")
    else:
        yield from map(_escaped, token)


def _escaped(text: Any) -> str:
    if not isinstance(text, str):
        raise TypeError(f"a name must be a string, not {text!r}")
    if _UNFIT.search(text):
        raise ValueError(f"{text!r} is empty or has a tab or line end in it, which the format cannot hold; replace it")
    return text.replace("\\", "\\\\").replace(":", "\\:")


def _suffix(name: str, value: Any) -> str:
    number = float(value)
    if not abs(number) <= _LARGEST:
        raise ValueError(f"the value of {name!r} is {number}; it must be finite and within single precision")
    return "" if number == 1 else f":{number!r}"
