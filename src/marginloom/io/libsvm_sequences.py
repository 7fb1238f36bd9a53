"""Sequences in LIBSVM's format, ``label qid:N index:value ...``: neighbouring lines with the same N are one."""

from __future__ import annotations

import dataclasses
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.parameters import checked
from marginloom.errors import InputError, InputWarning
from marginloom.io.confidence import lines_with_confidence
from marginloom.io.files import StrPath
from marginloom.io.formats import LIBSVM
from marginloom.io.libsvm import LibsvmRows, beyond_text, parse, read_rows
from marginloom.io.names import shown
from marginloom.io.stream_pieces import stream_pieces
from marginloom.labels.numbered import NumberedLabels

__all__ = ["LibsvmCorpus", "read_corpus", "read_libsvm_sequences", "stream_corpora"]

_LINE_END = re.compile(rb"\n")
_GROUP = re.compile(rb"(?:^|\s)qid:(\S+)")


@dataclasses.dataclass(frozen=True)
class LibsvmCorpus:
    """Sequences of rows of numbers from one or several files.

    Attributes
    ----------
    files : list
        Their rows.
    byte_count : int
        Size of the text.
    """

    files: Sequence[LibsvmRows]
    byte_count: int = 0

    def __post_init__(self) -> None:
        for rows in self.files:
            missing = np.flatnonzero(rows.groups < 0)
            if missing.size:
                raise InputError(
                    f"{rows.place(int(missing[0]))}: found no qid after the label, expected qid:N, which says to which "
                    "sequence the line belongs"
                )

    @property
    def format(self) -> str:
        """The format's name."""
        return LIBSVM

    @property
    def weights(self) -> None:
        """Sequences have no weights."""
        return None

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Rows of each sequence; one never goes on in another file."""
        lengths = [np.zeros(0, dtype=np.int64)]
        for rows in self.files:
            starts = np.flatnonzero(np.diff(rows.groups, prepend=-1) != 0)
            lengths.append(np.diff(np.append(starts, len(rows))))
        return np.concatenate(lengths)

    @property
    def sentences(self) -> NDArray[np.uint64]:
        """Where the sequences begin and end, counted in rows over all files."""
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.uint64)

    @property
    def n_features(self) -> int:
        """The largest index that occurs."""
        return max((rows.n_features for rows in self.files), default=0)

    def matrix(self, n_features: int | None = None) -> Any:
        """Return the rows of all files as a CSR matrix; entries beyond its columns are left out with a warning."""
        from scipy.sparse import vstack

        width = self.n_features if n_features is None else checked("n_features", n_features, "count")
        beyond = sum(rows.count_beyond(width) for rows in self.files)
        if beyond:
            warnings.warn(InputWarning(f"{self.files[0].name}: {beyond_text(beyond, width)}"), stacklevel=2)
        return vstack([rows.matrix(width) for rows in self.files], format="csr")

    def label_column(self, column: int | str | None) -> int:
        """Return the index of the first field, in which the labels always are."""
        if column not in (None, 1):
            raise InputError(f"in LIBSVM's format the labels are the first field, so --column cannot be {column}")
        return 0

    def labels(self, column: int = 0, strings: bool | None = None) -> NumberedLabels:
        """Return the labels: whole numbers if all are, or names."""
        self.label_column(column + 1)
        if strings is None:
            strings = any(rows.has_names for rows in self.files)
        return NumberedLabels.join([rows.single_labels(strings) for rows in self.files])

    def with_labels(
        self, labels: _core.Vocabulary, numbers: NDArray[np.uint16], column: int | str | None, k: int = 1
    ) -> bytes:
        """Return the labels alone, one a line, with a blank line after every sequence."""
        self.label_column(column)
        names = [labels.name(number) for number in range(len(labels))]
        ends = set(self.sentences[1:].tolist())
        lines = (names[number] + ("\n\n" if t in ends else "\n") for t, number in enumerate(numbers.tolist(), start=1))
        return "".join(lines).encode()

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


def read_corpus(paths: Sequence[StrPath]) -> LibsvmCorpus:
    """Read files, plain, .gz or .xz, each of which must have a sequence."""
    return LibsvmCorpus([read_rows(path) for path in paths])


def stream_corpora(stream: BinaryIO, name: str) -> Iterator[LibsvmCorpus]:
    """Yield a stream's sequences piece by piece: each is complete when the next one begins."""
    name, first_line = shown(name), 1
    waiting: list[bytes] = []  # of the last sequence; a line is searched once, however long that is
    group: bytes | None = None
    for piece, _ in stream_pieces(stream, _LINE_END):
        cut, last = _last_beginning(piece, group)
        if cut is None:
            waiting.append(piece)
        else:
            yield _parsed([*waiting, piece[:cut]], name, first_line)
            first_line += sum(part.count(b"\n") for part in waiting) + piece.count(b"\n", 0, cut)
            waiting = [piece[cut:]]
        group = last
    if waiting:
        yield _parsed(waiting, name, first_line)


def _parsed(parts: list[bytes], name: str, first_line: int) -> LibsvmCorpus:
    text = b"".join(parts)
    return LibsvmCorpus([parse(text, name, first_line)], len(text))


def _last_beginning(text: bytes, group: bytes | None) -> tuple[int | None, bytes | None]:
    r"""Return where the last sequence of lines begins, and its group; None if that is the one that was begun before.

    Examples
    --------
    >>> _last_beginning(b"1 qid:3\n1 qid:4\n2 qid:4\n", b"3"), _last_beginning(b"1 qid:4\n", b"4")
    ((8, b'4'), (None, b'4'))
    """
    begin, first = len(text), 0
    earliest: bytes | None = None  # group of the line at `first`, and of all after it
    while begin > 0:
        line_begin = text.rfind(b"\n", 0, begin - 1) + 1
        found = _GROUP.search(text[line_begin:begin].partition(b"#")[0])
        if found is not None:
            number = found[1].lstrip(b"0")
            if earliest is not None and number != earliest:
                return begin, earliest
            earliest, first = number, line_begin
        begin = line_begin
    if earliest is None:
        return None, group
    return (first if group is not None and earliest != group else None), earliest


def read_libsvm_sequences(path: StrPath, *, n_features: int | None = None) -> tuple[Any, Any, NDArray[np.int64]]:
    r"""Read sequences, with which `marginloom.SequenceTagger` is fitted: ``fit(X, y, lengths=lengths)``.

    Parameters
    ----------
    path : path
        The file, plain, .gz or .xz: a line ``label qid:N index:value ...`` for every token; lines with the same N that
        follow each other are a sequence.
    n_features : int, optional
        How many features there are, as in the training file; what lies beyond is left out with a warning. By default
        the largest index.

    Returns
    -------
    X : CSR matrix
        A row per token.
    y : array
        The labels of the tokens: whole numbers, or strings if not all of them are.
    lengths : array
        Tokens of each sequence.

    Raises
    ------
    InputError
        If the file cannot be read, or a line is not as the format wants it; the message names the line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.svm")
    ...     size = path.write_text("2 qid:1 1:0.5\n1 qid:1 2:4\n1 qid:2 1:1\n")
    ...     X, y, lengths = read_libsvm_sequences(path)
    >>> X.toarray().tolist(), y.tolist(), lengths.tolist()
    ([[0.5, 0.0], [0.0, 4.0], [1.0, 0.0]], [2, 1, 1], [2, 1])
    """
    corpus = read_corpus([path])
    return corpus.matrix(n_features), corpus.labels().values(), corpus.lengths
