"""Invented sentences with dependency trees, for examples, tests and benchmarks that need no download.

The language is that of `marginloom.tasks.base.invented`.
``python -m marginloom.tasks.parse.datasets FOLDER`` writes a training, a development and a test file.
"""

from __future__ import annotations

import dataclasses
import random
import sys
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import TypeAlias

from marginloom.errors import InputError
from marginloom.tasks.base.invented import Draw, Share, lexicon, pick, write_made_up, zipf_draw
from marginloom.tasks.parse.files import write_conllu

__all__ = ["main", "make_treebank"]

Words: TypeAlias = list[tuple[str, str, str]]
Tree: TypeAlias = list[tuple[int, str]]

# Weighted productions, a space between symbols. The symbol without a label has the head of the whole; others hang on it
# as the label says, or with @N on the head of the N-th symbol, from 0. The first production of each symbol leads to
# words without recursion and is the one taken below DEEPEST. Symbols that are no key here are terminals.
GRAMMAR: dict[str, list[tuple[float, str]]] = {
    "SENTENCE": [
        (50, "CLAUSE end:punct"),
        (10, "SUBORDINATE:advcl comma:punct CLAUSE end:punct"),
        (9, "CLAUSE SUBORDINATE:advcl end:punct"),
        (9, "CLAUSE JOINED_CLAUSE:conj end:punct"),
        (8, "adverb:advmod comma:punct CLAUSE end:punct"),
        (8, "ADJUNCT:obl comma:punct CLAUSE end:punct"),
        (6, "QUESTION question:punct"),
    ],
    # What belongs to the subject comes after the verb, so that its arc crosses the root's.
    "CROSSING": [
        (2, "NOMINAL:nsubj VERBAL LATE_RELATIVE:acl:relcl@0 end:punct"),
        (1, "NOMINAL:nsubj verb ATTRIBUTE:nmod@0 end:punct"),
    ],
    "CLAUSE": [(1, "NOMINAL:nsubj VERBAL")],
    "SUBORDINATE": [(1, "subordinator:mark CLAUSE")],
    "JOINED_CLAUSE": [(1, "comma:punct coordinator:cc CLAUSE")],
    "COMPLEMENT": [(1, "complementizer:mark CLAUSE")],
    "QUESTION": [(1, "modal:aux NOMINAL:nsubj verb NOMINAL:obj"), (1, "be:cop NOMINAL:nsubj adjective")],
    "NOMINAL": [
        (24, "determiner:det noun"),
        (20, "pronoun"),
        (12, "name"),
        (5, "name name:flat"),
        (14, "determiner:det ADJECTIVAL:amod noun"),
        (7, "ADJECTIVAL:amod noun"),
        (6, "noun"),
        (6, "determiner:det noun:compound noun"),
        (5, "number:nummod noun"),
        (3, "determiner:det number:nummod ADJECTIVAL:amod noun"),
        (12, "NOMINAL ATTRIBUTE:nmod"),
        (7, "NOMINAL RELATIVE:acl:relcl"),
        (6, "NOMINAL JOINED_NOMINAL:conj"),
    ],
    "JOINED_NOMINAL": [(1, "coordinator:cc NOMINAL")],
    "ADJECTIVAL": [(8, "adjective"), (2, "adverb:advmod adjective")],
    "ATTRIBUTE": [(1, "of_nouns:case NOMINAL")],
    "ADJUNCT": [(1, "of_verbs:case NOMINAL")],
    "RELATIVE": [(1, "relative:nsubj VERBAL")],
    "LATE_RELATIVE": [(1, "comma:punct relative:nsubj VERBAL")],
    "VERBAL": [
        (14, "verb"),
        (30, "verb NOMINAL:obj"),
        (10, "verb ADJUNCT:obl"),
        (8, "verb NOMINAL:obj ADJUNCT:obl"),
        (12, "modal:aux verb NOMINAL:obj"),
        (5, "modal:aux adverb:advmod verb"),
        (6, "adverb:advmod verb NOMINAL:obj"),
        (6, "verb NOMINAL:obj adverb:advmod"),
        (8, "be:cop ADJECTIVAL"),
        (5, "be:cop NOMINAL"),
        (5, "verb COMPLEMENT:ccomp"),
        (5, "VERBAL JOINED_VERBAL:conj"),
    ],
    "JOINED_VERBAL": [(1, "coordinator:cc VERBAL")],
}
DEEPEST = 6
SHORTEST, LONGEST = 3, 40
AMBIGUITY = 0.2

# Whether a phrase hangs on a noun or on a verb is told by its preposition, but for two of them.
PREPOSITIONS = {
    "of_nouns": "of with between about for against without",
    "of_verbs": "in to on after with at by for until from under over through",
}
FINE_TAGS = {
    "determiner": "DT",
    "pronoun": "PRP",
    "relative": "WP",
    "of_nouns": "IN",
    "of_verbs": "IN",
    "subordinator": "IN",
    "complementizer": "IN",
    "coordinator": "CC",
    "modal": "MD",
    "be": "VBZ",
    "comma": ",",
    "end": ".",
    "question": ".",
    "noun": "NN",
    "verb": "VB",
    "adjective": "JJ",
    "adverb": "RB",
    "name": "NNP",
    "number": "CD",
}


@dataclasses.dataclass(frozen=True)
class _Part:
    """A symbol of a production, and what its head is to the head of the symbol `above`."""

    symbol: str
    label: str
    above: int


@dataclasses.dataclass(frozen=True)
class _Productions:
    """All productions of a symbol: their cumulative weights, their parts, and which part has the head."""

    bounds: list[float]
    parts: list[list[_Part]]
    heads: list[int]


@dataclasses.dataclass
class _Node:
    """A word to be, with the place of its head, from 0, and -1 for the root."""

    terminal: str
    head: int = -1
    label: str = "root"


def make_treebank(
    n_sentences: int = 1000, *, seed: int = 0, nonprojective: float = 0.0
) -> tuple[list[Words], list[Tree]]:
    """Make sentences of an invented language with their dependency trees.

    The sentences come from a probabilistic grammar whose productions say what hangs on what; labels and tags are in the
    manner of Universal Dependencies. The words follow Zipf's law, so a test part has words that its training part
    lacks. Most arcs can be told from tags and distance; on what a prepositional phrase hangs mostly takes its
    preposition. The vocabulary is the same for every seed.

    Parameters
    ----------
    n_sentences : int
        How many sentences, each of 3 to 40 words. Fewer sentences are the first ones of more.
    seed : int
        Chooses the sentences.
    nonprojective : float
        Share, from 0 to 1, of sentences with a non-projective tree: the subject's relative clause or attribute follows
        the verb.

    Returns
    -------
    X : list of list of (form, upos, xpos)
        The words of each sentence.
    y : list of list of (head, label)
        Their trees: heads count from 1, and that of the one root is 0.

    Raises
    ------
    InputError
        If `n_sentences` is negative or `nonprojective` not between 0 and 1.

    Examples
    --------
    >>> X, y = make_treebank(100, seed=1)
    >>> len(X), len(X[0]) == len(y[0]), [head for head, label in y[0] if label == "root"]
    (100, True, [0])
    >>> make_treebank(2, seed=1)[1] == y[:2]
    True
    """
    if n_sentences < 0:
        raise InputError(f"n_sentences is {n_sentences}; it must be 0 or more")
    if not 0 <= nonprojective <= 1:
        raise InputError(f"nonprojective is {nonprojective}; it must be between 0 and 1")
    words = _words()
    rng = random.Random(int(seed))
    X: list[Words] = []
    y: list[Tree] = []
    for _ in range(n_sentences):
        nodes = _sentence("CROSSING" if rng.random() < nonprojective else "SENTENCE", rng)
        X.append([(words[node.terminal][1](rng), words[node.terminal][0], FINE_TAGS[node.terminal]) for node in nodes])
        y.append([(node.head + 1, node.label) for node in nodes])
    return X, y


@lru_cache(maxsize=1)
def _words() -> dict[str, tuple[str, Draw]]:
    return {
        **lexicon(AMBIGUITY),
        **{terminal: ("ADP", zipf_draw(text.split())) for terminal, text in PREPOSITIONS.items()},
    }


def _sentence(symbol: str, rng: random.Random) -> list[_Node]:
    while True:
        nodes: list[_Node] = []
        _expand(symbol, 0, rng, nodes)
        if SHORTEST <= len(nodes) <= LONGEST:
            return nodes


def _expand(symbol: str, depth: int, rng: random.Random, nodes: list[_Node]) -> int:
    """Add the words of a symbol, and return the place of its head."""
    productions = _PRODUCTIONS.get(symbol)
    if productions is None:
        nodes.append(_Node(symbol))
        return len(nodes) - 1
    choice = 0 if depth > DEEPEST else pick(productions.bounds, rng)
    parts, head = productions.parts[choice], productions.heads[choice]
    places = [_expand(part.symbol, depth + 1, rng, nodes) for part in parts]
    for i, part in enumerate(parts):
        if i != head:
            nodes[places[i]].head, nodes[places[i]].label = places[part.above], part.label
    return places[head]


def _read_grammar() -> dict[str, _Productions]:
    read = {}
    for symbol, rules in GRAMMAR.items():
        parts, heads = [], []
        for _, right in rules:
            items = [item.partition(":") for item in right.split()]
            heads.append(next(i for i, (_, colon, _) in enumerate(items) if not colon))
            parts.append([_read_part(name, label, heads[-1]) for name, _, label in items])
        read[symbol] = _Productions(list(accumulate(weight for weight, _ in rules)), parts, heads)
    return read


def _read_part(symbol: str, text: str, head: int) -> _Part:
    label, at, above = text.partition("@")
    return _Part(symbol, label, int(above) if at else head)


_PRODUCTIONS = _read_grammar()


def main(arguments: Sequence[str] | None = None) -> int:
    """Write train.conllu, dev.conllu and test.conllu, with 80, 10 and 10 percent of the sentences.

    Parameters
    ----------
    arguments : sequence of str, optional
        The arguments of the command line; by default those of the process.

    Returns
    -------
    int
        The exit code: 0 done, 1 failed with a message on standard error.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     code = main([folder, "--sentences", "20"])
    ...     code, sorted(path.name for path in pathlib.Path(folder).iterdir())
    (0, ['dev.conllu', 'test.conllu', 'train.conllu'])
    """
    share = Share("nonprojective", 0.0, "share of non-projective trees")
    return write_made_up(arguments, "parse", "conllu", "dependency trees", share, make_treebank, write_conllu)


if __name__ == "__main__":
    sys.exit(main())
