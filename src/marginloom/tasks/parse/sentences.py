"""Sentences and trees as Python users give them: lists, checked word by word."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError
from marginloom.io.columns import FEATS, FORM, UPOS, XPOS, NamedRows, columns_of_words
from marginloom.labels.numbered import NumberedLabels

#: A word: its form, its part of speech, and perhaps a finer one and its morphological features.
Word: TypeAlias = Sequence[str]
#: What words hold unless users say otherwise; the last two may be left out.
USUAL_COLUMNS = (FORM, UPOS, XPOS, FEATS)


def named_rows(sentences: list[list[Word]], columns: tuple[str, ...] | None = None) -> NamedRows:
    """Return sentences that were checked, with what the columns of their words are called.

    Examples
    --------
    >>> named_rows([[("dogs", "NOUN")]]).names
    ('form', 'upos')
    """
    return NamedRows(sentences, columns or USUAL_COLUMNS[: columns_of_words(sentences) or None])


def checked_sentences(X: Any, columns: tuple[str, ...] | None = None) -> list[list[Word]]:
    """Return sentences as lists of words; `InputError` if they are something else.

    Parameters
    ----------
    X : iterable of sentences
        Each with a tuple of strings for every word, all of the same length.
    columns : tuple of str, optional
        What the tuples hold; by default (form, upos), (form, upos, xpos) or (form, upos, xpos, feats).

    Examples
    --------
    >>> checked_sentences([[("dogs", "NOUN"), ("bark", "VERB")], []])
    [[('dogs', 'NOUN'), ('bark', 'VERB')], []]
    """
    sizes = (2, 3, 4) if columns is None else (len(columns),)
    sentences = [
        _as_list(sentence, f"X[{i}] must be a list of words")
        for i, sentence in enumerate(_as_list(X, "X must be a list of sentences"))
    ]
    first = next((word for sentence in sentences for word in sentence), None)
    size = len(first) if isinstance(first, (tuple, list)) and len(first) in sizes else 0
    for i, sentence in enumerate(sentences):
        if size and _are_plain_words(sentence, size):
            continue
        for place, word in enumerate(sentence, 1):
            if not _is_word(word, size):
                raise InputError(
                    f"{place_in_lists(i, place)}: found {_shown(word)}, expected {_expected(size, columns)}"
                )
    return sentences


def _are_plain_words(sentence: Sequence[Any], size: int) -> bool:
    """Tell whether all words are as most are, with nothing derived from the types: sooner than word by word."""
    return (
        {tuple, list}.issuperset(map(type, sentence))
        and {size}.issuperset(map(len, sentence))
        and {str}.issuperset(map(type, itertools.chain.from_iterable(sentence)))
    )


def _is_word(word: Any, size: int) -> bool:
    if not size or not isinstance(word, (tuple, list)) or len(word) != size:
        return False
    return all(isinstance(field, str) for field in word)


def _expected(size: int, columns: tuple[str, ...] | None) -> str:
    if columns is not None:
        return f"a tuple ({', '.join(columns)}{',' if len(columns) == 1 else ''}) of strings, as columns= says"
    if not size:
        return "a tuple (form, upos), (form, upos, xpos) or (form, upos, xpos, feats) of strings"
    return f"a tuple ({', '.join(USUAL_COLUMNS[:size])}) of strings, as for the first word"


def place_in_lists(sentence: int, word: int) -> str:
    """Name a place: sentences count from 0, as in X, and words from 1, as heads do.

    Examples
    --------
    >>> place_in_lists(3, 2)
    'sentence 3, word 2'
    """
    return f"sentence {sentence}, word {word}"


def offsets_of(sentences: Sequence[Sequence[Any]]) -> NDArray[np.uint64]:
    """Return where sentences begin and end, counted in words.

    Examples
    --------
    >>> offsets_of([["a", "b"], [], ["c"]]).tolist()
    [0, 2, 2, 3]
    """
    return np.cumsum([0, *map(len, sentences)]).astype(np.uint64)


def lengths_of(sentences: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return how many words sentences have that begin and end there.

    Examples
    --------
    >>> lengths_of(np.array([0, 2, 2, 3], np.uint64)).tolist()
    [2, 0, 1]
    """
    bounds = sentences.astype(np.int64)
    return bounds[1:] - bounds[:-1]


def checked_trees(y: Any, sentences: Sequence[Sequence[Any]]) -> tuple[NDArray[np.int64], NumberedLabels | None]:
    """Return the heads of all words in a row, and their labels if there are some; `InputError` if y is something else.

    Parameters
    ----------
    y : iterable of trees
        For each sentence the head of every word, or a pair (head, label) for every word.
    sentences : sequence of sentences
        The words, of which there must be as many.

    Examples
    --------
    >>> heads, labels = checked_trees([[(2, "nsubj"), (0, "root")]], [["dogs", "bark"]])
    >>> heads.tolist(), labels.values().tolist()
    ([2, 0], ['nsubj', 'root'])
    """
    trees = _as_list(y, "y must be a list with the tree of each sentence")
    if len(trees) != len(sentences):
        raise InputError(f"X has {len(sentences)} sentences, and y has {len(trees)} trees")
    trees = [_as_list(tree, f"y[{i}] must be a list with the head of each word") for i, tree in enumerate(trees)]
    for i, (sentence, tree) in enumerate(zip(sentences, trees, strict=True)):
        if len(sentence) != len(tree):
            raise InputError(f"sentence {i} has {len(sentence)} words and {len(tree)} heads")
    first = next((node for tree in trees for node in tree), 0)
    labelled = isinstance(first, (tuple, list))
    for i, tree in enumerate(trees):
        for place, node in enumerate(tree, 1):
            if not _is_node(node, labelled):
                raise InputError(
                    f"{place_in_lists(i, place)}: found {_shown(node)}, expected {_expected_node(labelled)}"
                )
    nodes = [node for tree in trees for node in tree]
    heads = np.array([node[0] for node in nodes] if labelled else nodes, dtype=np.int64)
    return heads, NumberedLabels.of([node[1] for node in nodes]) if labelled else None


def _is_node(node: Any, labelled: bool) -> bool:
    if not labelled:
        return isinstance(node, (int, np.integer)) and not isinstance(node, bool) and abs(int(node)) < 2**63
    return isinstance(node, (tuple, list)) and len(node) == 2 and _is_node(node[0], False) and isinstance(node[1], str)


def _expected_node(labelled: bool) -> str:
    return "a pair (head, label) of a whole number and a string" if labelled else "the number of its head"


def _as_list(items: Any, wanted: str) -> list[Any]:
    if isinstance(items, np.ndarray) and items.ndim:
        return list(items.tolist())
    if isinstance(items, (str, bytes, Mapping, np.ndarray)) or not isinstance(items, Iterable):
        raise InputError(f"{wanted}, not {_shown(items)}")
    return list(items)


def _shown(thing: Any) -> str:
    text = repr(thing)
    return text if len(text) <= 80 else f"{text[:80]}..."
