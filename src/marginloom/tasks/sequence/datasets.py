"""Invented sentences with part-of-speech tags, for examples, tests and benchmarks that need no download.

The language has English function words and some thousands of made-up words, in the manner of Jabberwocky.
``python -m marginloom.tasks.sequence.datasets FOLDER`` writes a training, a development and a test file.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import accumulate

from marginloom.errors import InputError
from marginloom.io.compression import compressing_write
from marginloom.io.names import StrPath
from marginloom.tasks.base.invented import Share, lexicon, pick, write_made_up

__all__ = ["main", "make_tagging", "write_conll"]

# Weighted productions, a space between symbols. The first one of each symbol leads to words without
# recursion and is the one taken below DEEPEST. Symbols that are no key here are terminals, of the lexicon.
GRAMMAR: dict[str, list[tuple[float, str]]] = {
    "SENTENCE": [
        (50, "CLAUSE end"),
        (10, "subordinator CLAUSE comma CLAUSE end"),
        (9, "CLAUSE subordinator CLAUSE end"),
        (9, "CLAUSE comma coordinator CLAUSE end"),
        (8, "adverb comma CLAUSE end"),
        (8, "PREPOSITIONAL comma CLAUSE end"),
        (6, "AUXILIARY_QUESTION question"),
    ],
    "CLAUSE": [(1, "NOMINAL VERBAL")],
    "AUXILIARY_QUESTION": [(1, "modal NOMINAL verb NOMINAL"), (1, "be NOMINAL adjective")],
    "NOMINAL": [
        (24, "determiner noun"),
        (20, "pronoun"),
        (12, "name"),
        (5, "name name"),
        (14, "determiner ADJECTIVAL noun"),
        (7, "ADJECTIVAL noun"),
        (6, "noun"),
        (6, "determiner noun noun"),
        (5, "number noun"),
        (3, "determiner number ADJECTIVAL noun"),
        (12, "NOMINAL PREPOSITIONAL"),
        (7, "NOMINAL relative VERBAL"),
        (6, "NOMINAL coordinator NOMINAL"),
    ],
    "ADJECTIVAL": [(8, "adjective"), (2, "adverb adjective"), (2, "adjective adjective")],
    "PREPOSITIONAL": [(1, "preposition NOMINAL")],
    "VERBAL": [
        (14, "verb"),
        (30, "verb NOMINAL"),
        (10, "verb PREPOSITIONAL"),
        (8, "verb NOMINAL PREPOSITIONAL"),
        (12, "modal verb NOMINAL"),
        (5, "modal adverb verb"),
        (6, "adverb verb NOMINAL"),
        (6, "verb NOMINAL adverb"),
        (8, "be ADJECTIVAL"),
        (5, "be NOMINAL"),
        (5, "verb complementizer CLAUSE"),
        (5, "VERBAL coordinator VERBAL"),
    ],
}
DEEPEST = 6
SHORTEST, LONGEST = 3, 40


def make_tagging(
    n_sentences: int = 1000, *, seed: int = 0, ambiguity: float = 0.2
) -> tuple[list[list[str]], list[list[str]]]:
    """Make sentences of an invented language with their part-of-speech tags.

    The sentences come from a probabilistic phrase grammar with 13 tags. The words follow Zipf's law, so a
    test part has words that its training part lacks, and some words have two or three tags, which only the
    context decides. The vocabulary is the same for every seed.

    Parameters
    ----------
    n_sentences : int
        How many sentences, each of 3 to 40 tokens. Fewer sentences are the first ones of more.
    seed : int
        Chooses the sentences.
    ambiguity : float
        Share, from 0 to 1, of verbs and of adjectives that are nouns too. Function words such as "that" have
        several tags unless it is 0, where each word has one tag.

    Returns
    -------
    words, tags : list of list of str
        The words and the tags of each sentence.

    Raises
    ------
    InputError
        If `n_sentences` is negative or `ambiguity` not between 0 and 1.

    Examples
    --------
    >>> words, tags = make_tagging(100, seed=1)
    >>> len(words), len(words[0]) == len(tags[0])
    (100, True)
    >>> make_tagging(2, seed=1)[1] == tags[:2]
    True
    """
    if n_sentences < 0:
        raise InputError(f"n_sentences is {n_sentences}; it must be 0 or more")
    if not 0 <= ambiguity <= 1:
        raise InputError(f"ambiguity is {ambiguity}; it must be between 0 and 1")
    words_of = lexicon(float(ambiguity))
    rng = random.Random(int(seed))
    words: list[list[str]] = []
    tags: list[list[str]] = []
    for _ in range(n_sentences):
        sentence = _sentence(rng)
        words.append([words_of[terminal][1](rng) for terminal in sentence])
        tags.append([words_of[terminal][0] for terminal in sentence])
    return words, tags


def write_conll(path: StrPath, *columns: Sequence[Sequence[str]]) -> None:
    r"""Write sentences in CoNLL columns: a token a line, tabs between columns, a blank line after a sentence.

    Parameters
    ----------
    path : str or path-like
        The file to write, in UTF-8, compressed if its name ends in .gz or .xz; it is replaced in one step.
    *columns : sequence of sequences of str
        The columns, each a list of sentences, such as the words and the tags.

    Raises
    ------
    InputError
        If the columns do not match, a sentence is empty, a field is empty, has white space in it, or cannot be written
        in UTF-8, or the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.conll")
    ...     write_conll(path, [["it", "rains"]], [["PRON", "VERB"]])
    ...     path.read_text()
    'it\tPRON\nrains\tVERB\n\n'
    """
    _check_columns(columns)
    with compressing_write(path) as file:
        for sentence in zip(*columns, strict=True):
            lines = ["\t".join(token) + "\n" for token in zip(*sentence, strict=True)]
            file.write("".join([*lines, "\n"]).encode())


def main(arguments: Sequence[str] | None = None) -> int:
    """Write train.conll, dev.conll and test.conll, with 80, 10 and 10 percent of the sentences.

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
    (0, ['dev.conll', 'test.conll', 'train.conll'])
    """
    share = Share("ambiguity", 0.2, "share of ambiguous words")
    return write_made_up(arguments, "sequence", "conll", "part-of-speech tags", share, make_tagging, write_conll)


def _check_columns(columns: Sequence[Sequence[Sequence[str]]]) -> None:
    if not columns:
        raise InputError("write_conll got no column; give at least one list of sentences")
    sizes = [len(column) for column in columns]
    if len(set(sizes)) > 1:
        raise InputError(f"the columns have {sizes} sentences; give the same number in each")
    unfit = re.compile(r"[ \t\n\r\f\v\ud800-\udfff]|^\ufeff|^$").search
    for index, sentence in enumerate(zip(*columns, strict=True)):
        lengths = [len(column) for column in sentence]
        if len(set(lengths)) > 1 or not lengths[0]:
            raise InputError(
                f"sentence {index} (counted from 0) has {lengths} tokens in the columns; "
                "give the same number, at least 1, in each"
            )
        for field in (field for column in sentence for field in column):
            if unfit(field):
                raise InputError(
                    f"sentence {index} (counted from 0) has the field {field!r}; "
                    "CoNLL columns cannot hold empty fields, white space, byte order marks or halves of letters, "
                    "replace it"
                )


def _sentence(rng: random.Random) -> list[str]:
    while True:
        terminals = list(_expand("SENTENCE", 0, rng))
        if SHORTEST <= len(terminals) <= LONGEST:
            return terminals


def _expand(symbol: str, depth: int, rng: random.Random) -> Iterator[str]:
    productions = _PRODUCTIONS.get(symbol)
    if productions is None:
        yield symbol
        return
    choices, bounds = productions
    choice = 0 if depth > DEEPEST else pick(bounds, rng)
    for part in choices[choice]:
        yield from _expand(part, depth + 1, rng)


_PRODUCTIONS: dict[str, tuple[list[list[str]], list[float]]] = {
    symbol: ([right.split() for _, right in rules], list(accumulate(weight for weight, _ in rules)))
    for symbol, rules in GRAMMAR.items()
}


if __name__ == "__main__":
    sys.exit(main())
