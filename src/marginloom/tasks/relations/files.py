"""Files of sentences with entities and relations: JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

from marginloom.common.parameters import checked
from marginloom.errors import InputError
from marginloom.io.compression import compressing_write
from marginloom.io.files import StrPath, decode_utf8, open_binary, read_bytes
from marginloom.io.model import parse_json
from marginloom.io.names import shown
from marginloom.io.stream_pieces import stream_pieces
from marginloom.tasks.relations.records import checked_sentence
from marginloom.tasks.relations.sentences import Corpus, Sentence

_LINE_END = re.compile(rb"\n")
_TOO_MUCH = 80  # letters of a line that messages show


class Piece(NamedTuple):
    """A few sentences of a stream, and how many bytes they took."""

    corpus: Corpus
    byte_count: int


def read_relations(path: StrPath, *, labelled: bool = True) -> list[dict[str, Any]]:
    r"""Read sentences with their entities and relations from a file of JSON lines, plain, .gz or .xz.

    Parameters
    ----------
    path : path
        The file.
    labelled : bool
        Whether gold types and relations must be there.

    Returns
    -------
    list of dict
        The objects of the lines, checked.

    Raises
    ------
    InputError
        If a line is no JSON, or not such a sentence; the message names it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.jsonl")
    ...     size = path.write_text('{"tokens": ["Bonn"], "entities": [{"type": "Loc", "start": 0, "end": 1}], '
    ...     '"relations": []}\n')
    ...     read_relations(path)[0]["tokens"]
    ['Bonn']
    """
    checked("labelled", labelled, "switch")
    return [dict(sentence.record) for sentence in read_corpus([path], labelled=labelled).sentences]


def write_relations(path: StrPath, sentences: Iterable[Mapping[str, Any]]) -> None:
    """Write sentences with their entities and relations to a file of JSON lines, which may end in .gz or .xz.

    Parameters
    ----------
    path : path
        The file.
    sentences : iterable of dict
        As `read_relations` returns them; other fields are kept.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_relations(f"{folder}/x.jsonl", [{"tokens": ["Bonn"], "entities": [], "relations": []}])
    ...     len(read_relations(f"{folder}/x.jsonl"))
    1
    """
    lines = []
    for number, sentence in enumerate(sentences):
        checked_sentence(sentence, f"sentence {number}", spans=False)
        lines.append(json_line(sentence))
    with compressing_write(path) as file:
        file.write("".join(lines).encode())


def json_line(record: Mapping[str, Any]) -> str:
    r"""Return an object as a line; `InputError` if JSON has no such value.

    Examples
    --------
    >>> json_line({"tokens": ["Köln"]})
    '{"tokens": ["Köln"]}\n'
    """
    try:
        text = json.dumps(record, ensure_ascii=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"a sentence cannot be written as JSON: {error}") from error
    return text + "\n"


def read_corpus(paths: Sequence[StrPath], *, labelled: bool, spans: bool = True) -> Corpus:
    """Read the sentences of files, one after the other; ``-`` is standard input."""
    found: list[Sentence] = []
    for path in paths:
        name = shown(path)
        if name == "-":
            with open_binary(name) as stream:
                data = stream.read()
        else:
            data = read_bytes(path)
        found += _sentences(data, name, 1, labelled=labelled, spans=spans)
    return Corpus(found)


def stream_corpora(stream: BinaryIO, name: str, *, spans: bool = True) -> Iterator[Piece]:
    """Yield the sentences of a stream as they come."""
    for piece, first_line in stream_pieces(stream, _LINE_END):
        yield Piece(Corpus(list(_sentences(piece, name, first_line, labelled=False, spans=spans))), len(piece))


def _sentences(data: bytes, name: str, first_line: int, *, labelled: bool, spans: bool) -> Iterator[Sentence]:
    text = decode_utf8(data, name, first_line)
    for number, line in enumerate(text.split("\n"), first_line):
        if line.strip():
            place = f"{name}, line {number}"
            yield checked_sentence(_parsed(line, place), place, labelled=labelled, spans=spans)


def _parsed(line: str, place: str) -> Any:
    try:
        return parse_json(line)
    except (ValueError, RecursionError) as error:
        seen = line if len(line) <= _TOO_MUCH else f"{line[:_TOO_MUCH]}..."
        reason = " ".join(str(error).split())[:200]
        raise InputError(
            f"{place}: found {seen!r}, expected a JSON object, one sentence a line ({reason}); mend the line"
        ) from error
