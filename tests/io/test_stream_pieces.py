"""Streams are cut after sentences as these come, and every byte is looked at about once."""

import doctest
import io
import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginloom.io import libsvm_sequences, stream_pieces
from marginloom.io.conll import _SENTENCE_END
from marginloom.io.crfsuite import _SEQUENCE_END
from marginloom.io.stream_pieces import stream_pieces as pieces_of

ENDS = {"columns": _SENTENCE_END, "crfsuite": _SEQUENCE_END, "lines": re.compile(rb"\n")}


class Blocks:
    """A stream that comes in blocks."""

    def __init__(self, blocks):
        self._blocks = iter(blocks)

    def read1(self, size):
        return next(self._blocks, b"")


class Counting:
    """A pattern that counts the bytes which it is asked to look through."""

    def __init__(self, pattern):
        self._pattern = pattern
        self.searched = 0

    def finditer(self, text):
        self.searched += len(text)
        return self._pattern.finditer(text)

    def search(self, text):
        self.searched += len(text)
        return self._pattern.search(text)


def pieces_by_definition(text, pattern):
    """Cut after every end of a sentence."""
    ends = [0, *(found.end() for found in pattern.finditer(text)), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(ends) if b > a]


def test_examples_in_the_documentation_hold():
    assert doctest.testmod(stream_pieces).failed == 0


@pytest.mark.parametrize("kind", ENDS)
@given(blocks=st.lists(st.text(alphabet="ab\n\n\n \t\r", min_size=1, max_size=6).map(str.encode)))
def test_pieces_are_whole_sentences_as_soon_as_they_have_come(kind, blocks):
    text = b"".join(blocks)
    found = list(pieces_of(Blocks(blocks), ENDS[kind]))
    assert b"".join(piece for piece, _ in found) == text
    assert [line for _, line in found] == [
        1 + text.count(b"\n", 0, sum(len(piece) for piece, _ in found[:k])) for k in range(len(found))
    ]
    cuts, end = set(), 0
    for piece in pieces_by_definition(text, ENDS[kind]):
        end += len(piece)
        cuts.add(end)
    end = 0
    for piece, _ in found:
        end += len(piece)
        assert end in cuts


@pytest.mark.parametrize("kind", ENDS)
@given(sentences=st.lists(st.text(alphabet="ab\t ", max_size=5).map(str.encode), max_size=6), size=st.integers(1, 4))
def test_a_sentence_comes_out_with_its_last_byte(kind, sentences, size):
    pattern = ENDS[kind]
    text = b"".join(sentence + b"\n\n" for sentence in sentences)
    seen = 0

    def blocks():
        nonlocal seen
        for start in range(0, len(text), size):
            ended = [found.end() for found in pattern.finditer(text[:start])]
            assert seen == (ended[-1] if ended else 0)
            yield text[start : start + size]

    for piece, _ in pieces_of(Blocks(blocks()), pattern):
        seen += len(piece)
    assert seen == len(text)


@pytest.mark.parametrize("kind", ["columns", "crfsuite"])
@pytest.mark.parametrize("block", [b"word\n", b"no line end", b"a\nb", b" ", b"\n ", b"x" * 100 + b"\n"])
def test_text_without_an_end_of_a_sentence_is_searched_about_once(kind, block):
    pattern = Counting(ENDS[kind])
    text = b"start" + block * 3_000
    assert b"".join(piece for piece, _ in pieces_of(Blocks([b"start", *[block] * 3_000]), pattern)) == text
    assert pattern.searched <= 2 * len(text) + 10


def test_long_sequence_of_libsvm_lines_is_searched_about_once(monkeypatch):
    pattern = Counting(libsvm_sequences._GROUP)
    monkeypatch.setattr(libsvm_sequences, "_GROUP", pattern)
    lines = [b"1 qid:7 1:1\n"] * 2_000 + [b"# a comment\n"] * 10 + [b"1 qid:8 1:1\n"] * 2_000
    corpora = list(libsvm_sequences.stream_corpora(Blocks(lines), "f"))
    assert [len(corpus.files[0]) for corpus in corpora] == [2_000, 2_000]
    assert [corpus.files[0].lines[0] for corpus in corpora] == [1, 2_011]
    assert pattern.searched <= 2 * sum(map(len, lines))


@given(
    groups=st.lists(st.sampled_from(["1", "2", "02", "13"]), min_size=1, max_size=8),
    size=st.integers(1, 40),
    comment=st.sampled_from(["", "# qid:9\n", "\n"]),
)
def test_sequences_of_libsvm_lines_are_those_of_the_whole_file(groups, size, comment):
    text = "".join(f"1 qid:{group} 1:1\n{comment}" for group in groups).encode()
    blocks = [text[start : start + size] for start in range(0, len(text), size)]
    corpora = list(libsvm_sequences.stream_corpora(Blocks(blocks), "f"))
    whole = libsvm_sequences.LibsvmCorpus([libsvm_sequences.parse(text, "f")])
    assert [length for corpus in corpora for length in corpus.lengths.tolist()] == whole.lengths.tolist()
    lines = [line for corpus in corpora for line in corpus.files[0].lines.tolist()]
    assert lines == whole.files[0].lines.tolist()
    assert sum(corpus.byte_count for corpus in corpora) == len(text)


def test_what_is_read_in_blocks_without_read1_is_cut_the_same(tmp_path):
    class Plain:
        def __init__(self, data):
            self.read = io.BytesIO(data).read

    text = b"a\n\nb\nc\n\nd"
    assert list(pieces_of(Plain(text), _SENTENCE_END)) == [(b"a\n\nb\nc\n\n", 1), (b"d", 6)]
