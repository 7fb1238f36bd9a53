"""Plain text as sentences: one a line, split into tokens by a small rule, as CoNLL-U.

The rule: white space separates tokens. Punctuation marks and symbols at either end of a word become tokens of their
own; a run of the same mark (``...``) is one token. Marks within a word stay there (``don't``, ``e-mail``, ``3.14``). A
full stop stays with a word of letters with full stops between them (``U.S.``, ``e.g.``), and with a single letter
(``J.``) that does not end the line.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import BinaryIO

from marginloom.errors import InputError
from marginloom.io.columns import FORM, XPOS, Columns
from marginloom.io.conll import ColumnCorpus, Layout
from marginloom.io.files import decode_utf8
from marginloom.io.formats import CONLLU, TEXT
from marginloom.io.stream_pieces import stream_pieces

_COLUMNS_BETWEEN = "\t_" * 7  # LEMMA to DEPS
_LINE_END = re.compile(rb"\n")
_MOST_WORDS = 65_534  # of a sentence


def tokens_of(text: str) -> list[tuple[str, bool]]:
    r"""Cut a line of text into tokens, each with whether white space follows it.

    Examples
    --------
    >>> [token for token, _ in tokens_of('He said: "I don\'t know J. Smith (U.S.)..."')]
    ['He', 'said', ':', '"', 'I', "don't", 'know', 'J.', 'Smith', '(', 'U.S.', ')', '...', '"']
    >>> tokens_of("Go on!")
    [('Go', True), ('on', False), ('!', True)]
    """
    tokens = []
    chunks = text.split()
    for place, chunk in enumerate(chunks, 1):
        parts = _cut(chunk, ends_line=place == len(chunks))
        tokens += [(part, False) for part in parts[:-1]]
        tokens.append((parts[-1], True))
    return tokens


def sentence_as_conllu(text: str) -> str:
    r"""Return a line of text as a sentence of CoNLL-U without annotations; nothing for an empty line.

    Examples
    --------
    >>> sentence_as_conllu("Go!")
    '# text = Go!\n1\tGo\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n2\t!\t_\t_\t_\t_\t_\t_\t_\t_\n\n'
    """
    tokens = tokens_of(text)
    if not tokens:
        return ""
    lines = [
        f"{number}\t{token}{_COLUMNS_BETWEEN}\t{'_' if space else 'SpaceAfter=No'}\n"
        for number, (token, space) in enumerate(tokens, 1)
    ]
    return f"# text = {' '.join(text.split())}\n{''.join(lines)}\n"


class TextCorpus(ColumnCorpus):
    """Sentences of plain text: CoNLL-U without annotations, of which models may read the words only."""

    @property
    def columns(self) -> Columns:
        """Those that are not empty: the words, and their numbers before them."""
        (table,) = self.tables
        names = ("id", FORM)
        return Columns(table.name, len(names) if table.tokens else 0, names, TEXT)

    def column(self, name: str) -> int:
        """Return the index of a column to write to."""
        place = self.layout.column(name)
        assert place is not None
        return place

    def _place_of_labels(self, column: int | str | None) -> int:
        """Return the column of CoNLL-U that is named, or else XPOS."""
        place = self.layout.column(column) if isinstance(column, str) else None
        return self.column(XPOS) if place is None else place


def stream_text(stream: BinaryIO, name: str) -> Iterator[TextCorpus]:
    """Yield the sentences of a stream of text as they come."""
    layout = Layout.of(CONLLU, "", name)
    for piece, first_line in stream_pieces(stream, _LINE_END):
        lines = decode_utf8(piece, name, first_line).split("\n")
        text = "".join(_checked_sentence(line, name, first_line + place) for place, line in enumerate(lines))
        yield TextCorpus(layout, [layout.parse(text.encode(), name, first_line, 0)])


def _checked_sentence(line: str, name: str, number: int) -> str:
    sentence = sentence_as_conllu(line)
    words = sentence.count("\n") - 2
    if words > _MOST_WORDS:
        raise InputError(
            f"{name}, line {number}: found a sentence of {words:,} words, expected one sentence a line, of at most "
            f"{_MOST_WORDS:,} words"
        )
    return sentence


def _cut(chunk: str, ends_line: bool) -> list[str]:
    """Cut punctuation marks from both ends of what stands between white space."""
    start, end = 0, len(chunk)
    while start < end and _is_mark(chunk[start]):
        start += 1
    while end > start and _is_mark(chunk[end - 1]):
        end -= 1
    if re.match(r"\.(?!\.)", chunk[end:]) and _is_abbreviation(chunk[start:end], ends_line):
        end += 1
    return [*_runs(chunk[:start]), *filter(None, [chunk[start:end]]), *_runs(chunk[end:])]


def _is_abbreviation(word: str, ends_line: bool) -> bool:
    parts = word.split(".")
    return all(part.isalpha() for part in parts) and (len(parts) > 1 or (len(word) == 1 and not ends_line))


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"


def _runs(marks: str) -> Iterator[str]:
    """Yield runs of the same character."""
    start = 0
    for place in range(1, len(marks) + 1):
        if place == len(marks) or marks[place] != marks[start]:
            yield marks[start:place]
            start = place
