"""Cutting a stream into pieces of whole sentences, as these come."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

__all__ = ["stream_pieces"]

_STREAM_BYTES = 1 << 16


def stream_pieces(stream: BinaryIO, sentence_end: re.Pattern[bytes]) -> Iterator[tuple[bytes, int]]:
    r"""Cut a stream after the ends of sentences, as soon as they have come.

    However long a sentence is, its text is searched once.

    Parameters
    ----------
    stream : binary file
        What to read, in blocks or as it comes.
    sentence_end : pattern
        Matches the line end of a sentence's last line up to that of the blank line after it, with no line end between.

    Yields
    ------
    bytes
        One or more sentences; the last piece is whatever is left.
    int
        The number of the line with which they begin, from 1.

    Examples
    --------
    >>> import io
    >>> list(stream_pieces(io.BytesIO(b"a\n\nb\nc"), re.compile(rb"\n\n")))
    [(b'a\n\n', 1), (b'b\nc', 3)]
    """
    waiting = _Waiting(sentence_end)
    line = 1
    while block := stream.read1(_STREAM_BYTES) if hasattr(stream, "read1") else stream.read(_STREAM_BYTES):
        if piece := waiting.take(block):
            yield piece, line
            line += piece.count(b"\n")
    if piece := waiting.rest():
        yield piece, line


class _Waiting:
    """Text without the end of a sentence.

    An end begins with a line end and has none before its last letter, so that it can lie only in what comes, or begin
    with the last line end before that. Text up to there is `searched`; `open` follows, and is looked at when it has
    one more line end.
    """

    def __init__(self, sentence_end: re.Pattern[bytes]) -> None:
        self._sentence_end = sentence_end
        self._searched: list[bytes] = []
        self._open: list[bytes] = []

    def take(self, block: bytes) -> bytes:
        """Add what has come, and return the text up to the last end of a sentence; nothing if there is none."""
        self._open.append(block)
        if b"\n" not in block:
            return b""
        text = b"".join(self._open)
        cut = max((end.end() for end in self._sentence_end.finditer(text)), default=0)
        piece = b"".join([*self._searched, text[:cut]]) if cut else b""
        if cut:
            self._searched.clear()
        last = max(text.rfind(b"\n", cut), cut)
        self._searched.append(text[cut:last])
        self._open = [text[last:]]
        return piece

    def rest(self) -> bytes:
        """Return all text that is left."""
        return b"".join([*self._searched, *self._open])
