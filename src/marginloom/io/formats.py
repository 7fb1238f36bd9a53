"""The formats of files of sentences, and which one a file has."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path

from marginloom.errors import InputError
from marginloom.io.names import StrPath, shown

CONLL = "conll"
CONLLU = "conllu"
CONLLU_PLUS = "conlluplus"
CONLLX = "conllx"
CRFSUITE = "crfsuite"
LIBSVM = "libsvm"
#: Plain text, a sentence a line; only `predict` reads it.
TEXT = "text"
FORMATS = (CONLL, CONLLU, CONLLU_PLUS, CRFSUITE, LIBSVM)
#: Formats that hold ready features; each goes only with itself.
READY_FORMATS = (CRFSUITE, LIBSVM)


@dataclasses.dataclass(frozen=True)
class KnownFormats:
    """The formats that a task reads, and which of them the ends of files' names mean to it.

    Attributes
    ----------
    names : tuple of str
        The formats.
    endings : mapping
        From the end of a name, with its dot, to the format.
    default : str
        The format of files whose names say nothing.
    """

    names: tuple[str, ...]
    endings: Mapping[str, str]
    default: str


_CONLLU_ENDINGS = {".conllu": CONLLU, ".conll-u": CONLLU, ".conllup": CONLLU_PLUS}
#: Of sentences whose tokens have labels.
LABELLED = KnownFormats(
    FORMATS,
    {".conll": CONLL, **_CONLLU_ENDINGS, ".crfsuite": CRFSUITE, ".svm": LIBSVM, ".libsvm": LIBSVM},
    CONLL,
)
#: Of sentences with trees.
TREEBANKS = KnownFormats(
    (CONLLU, CONLLU_PLUS, CONLLX), {**_CONLLU_ENDINGS, ".conll": CONLLX, ".conllx": CONLLX}, CONLLU
)


def format_of(
    path: StrPath, given: str | None = None, trained: str | None = None, known: KnownFormats = LABELLED
) -> str:
    """Return the format that was asked for, or the one that the name's ending says.

    Parameters
    ----------
    path : path
        The file; ``.gz`` and ``.xz`` at the end of its name are passed over.
    given : str, optional
        The format that was asked for.
    trained : str, optional
        The format of the training files, which files whose names say nothing have too. Ready features and columns do
        not go together.
    known : KnownFormats
        What the task reads.

    Examples
    --------
    >>> format_of("train.conllu.gz"), format_of("train.txt"), format_of("dev.txt", trained="crfsuite")
    ('conllu', 'conll', 'crfsuite')
    >>> format_of("train.conll", known=TREEBANKS)
    'conllx'
    """
    if given is not None and given not in known.names:
        raise InputError(f"there is no format {given!r}; there are: {', '.join(known.names)}")
    file = Path(path)
    ending = Path(file.stem).suffix if file.suffix.lower() in (".gz", ".xz") else file.suffix
    chosen = given or known.endings.get(ending) or trained or known.default
    if trained is not None and chosen != trained and (chosen in READY_FORMATS or trained in READY_FORMATS):
        raise InputError(
            f"{shown(path)}: the format is {chosen}, and the training data had {trained}; give a file in that "
            f"format, or --format {trained} if it is one"
        )
    return chosen


def common_format(
    paths: Iterable[StrPath], given: str | None = None, trained: str | None = None, known: KnownFormats = LABELLED
) -> str:
    """Return the one format of several files.

    Examples
    --------
    >>> common_format(["a.crfsuite", "b.crfsuite.xz"])
    'crfsuite'
    """
    formats = {format_of(path, given, trained, known) for path in paths}
    if len(formats) != 1:
        raise InputError(f"files in {' and '.join(sorted(formats))} cannot be mixed; say which one with --format")
    return formats.pop()
