"""Invented sentences with part-of-speech tags, for examples, tests and benchmarks that need no download.

The language has English function words and some thousands of made-up words, in the manner of Jabberwocky.
``python -m marginloom.tasks.sequence.datasets FOLDER`` writes a training, a development and a test file.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path

from marginloom.errors import InputError
from marginloom.io.files import StrPath, atomic_write

__all__ = ["main", "make_tagging", "write_conll"]

# Weighted productions, a space between symbols. The first one of each symbol leads to words without
# recursion and is the one taken below DEEPEST. Symbols that are no key here are terminals: those of CLOSED
# and OPEN, and "number".
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

# Terminal: tag and words, most frequent first. Words that stand in several lists are the ambiguous ones.
CLOSED: dict[str, tuple[str, str]] = {
    "determiner": ("DET", "the a this that her some each any every all no both another his these many those"),
    "pronoun": (
        "PRON",
        "it they this she he that we you some her these all them those many both everyone nobody",
    ),
    "relative": ("PRON", "that which who"),
    "preposition": (
        "ADP",
        "of in after to for with since on before at by until from as under over through between",
    ),
    "subordinator": ("SCONJ", "after because if since before while as until for although unless"),
    "complementizer": ("SCONJ", "that whether"),
    "coordinator": ("CCONJ", "and or but"),
    "modal": ("AUX", "will can may must should would could might"),
    "be": ("AUX", "is was seems becomes"),
    "comma": ("PUNCT", ","),
    "end": ("PUNCT", ". ! ;"),
    "question": ("PUNCT", "?"),
}


@dataclass(frozen=True)
class _OpenClass:
    """How the words of an open class are made; `shared` is the parity of the nouns that it shares, if any."""

    tag: str
    size: int
    suffixes: tuple[str, ...]
    bare: float
    shared: int | None = None
    capital: bool = False


# Nouns come first, for verbs and adjectives borrow theirs from them.
OPEN: dict[str, _OpenClass] = {
    "noun": _OpenClass("NOUN", 3000, ("ness", "ion", "ment", "ity", "ism"), 0.8),
    "verb": _OpenClass("VERB", 1100, ("ize", "ate", "ify", "en"), 0.6, shared=0),
    "adjective": _OpenClass("ADJ", 900, ("ous", "ful", "ish", "ive", "al", "able"), 0.4, shared=1),
    "adverb": _OpenClass("ADV", 300, ("ly", "ward", "wise"), 0.15),
    "name": _OpenClass("PROPN", 700, ("son", "ia", "berg", "ton"), 0.5, capital=True),
}
NUMBER_WORDS = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twenty", "hundred"]
# The language is the same for every seed, so that sets of different seeds can be train and test of one task.
LANGUAGE_SEED = 20240229
GOLDEN_RATIO = (5**0.5 - 1) / 2

ONSETS: list[str] = [
    *"bdghklmrstvz",
    "bl",
    "br",
    "dr",
    "fl",
    "gl",
    "gr",
    "kl",
    "kr",
    "sk",
    "sm",
    "sn",
    "th",
    "tr",
]
VOWELS: list[str] = [*"aeiou", "ai", "oa", "ee"]
CODAS: list[str] = [*"lmnrs", "lm", "nd", "rn", "st"]

_Draw = Callable[[random.Random], str]


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
    lexicon = _lexicon(float(ambiguity))
    rng = random.Random(int(seed))
    words: list[list[str]] = []
    tags: list[list[str]] = []
    for _ in range(n_sentences):
        sentence = _sentence(rng)
        words.append([lexicon[terminal][1](rng) for terminal in sentence])
        tags.append([lexicon[terminal][0] for terminal in sentence])
    return words, tags


def write_conll(path: StrPath, *columns: Sequence[Sequence[str]]) -> None:
    r"""Write sentences in CoNLL columns: a token a line, tabs between columns, a blank line after a sentence.

    Parameters
    ----------
    path : str or path-like
        The file to write, in UTF-8; it is replaced in one step.
    *columns : sequence of sequences of str
        The columns, each a list of sentences, such as the words and the tags.

    Raises
    ------
    InputError
        If the columns do not match, a sentence is empty, a field is empty or has white space in it, or the
        file cannot be written.

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
    with atomic_write(path, "w") as file:
        for sentence in zip(*columns, strict=True):
            file.writelines("\t".join(token) + "\n" for token in zip(*sentence, strict=True))
            file.write("\n")


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
    parser = argparse.ArgumentParser(
        prog="python -m marginloom.tasks.sequence.datasets",
        description="Write invented sentences with part-of-speech tags: train.conll, dev.conll, test.conll.",
    )
    parser.add_argument("folder", type=Path, help="where to write; created if it is missing")
    parser.add_argument("--sentences", type=int, default=3000, help="how many in all, at least 10 (default 3000)")
    parser.add_argument("--seed", type=int, default=0, help="chooses the sentences (default 0)")
    parser.add_argument("--ambiguity", type=float, default=0.2, help="share of ambiguous words (default 0.2)")
    options = parser.parse_args(arguments)
    if options.sentences < 10:
        parser.error(f"--sentences is {options.sentences}; three parts need at least 10")
    try:
        _write_parts(options.folder, options.sentences, options.seed, options.ambiguity)
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _write_parts(folder: Path, n_sentences: int, seed: int, ambiguity: float) -> None:
    words, tags = make_tagging(n_sentences, seed=seed, ambiguity=ambiguity)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot create the folder {str(folder)!r}: the system says {error.strerror!r}; choose another path"
        ) from error
    ends = [0, n_sentences * 8 // 10, n_sentences * 9 // 10, n_sentences]
    for name, start, end in zip(("train", "dev", "test"), ends, ends[1:], strict=False):
        write_conll(folder / f"{name}.conll", words[start:end], tags[start:end])


def _check_columns(columns: Sequence[Sequence[Sequence[str]]]) -> None:
    if not columns:
        raise InputError("write_conll got no column; give at least one list of sentences")
    sizes = [len(column) for column in columns]
    if len(set(sizes)) > 1:
        raise InputError(f"the columns have {sizes} sentences; give the same number in each")
    unfit = re.compile(r"[ \t\n\r\f\v]|^$").search
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
                    "CoNLL columns cannot hold empty fields or white space, replace it"
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
    choice = 0 if depth > DEEPEST else _pick(bounds, rng)
    for part in choices[choice]:
        yield from _expand(part, depth + 1, rng)


def _pick(bounds: Sequence[float], rng: random.Random) -> int:
    """Draw an index, given the cumulative weights."""
    return bisect(bounds, rng.random() * bounds[-1], hi=len(bounds) - 1)


_PRODUCTIONS: dict[str, tuple[list[list[str]], list[float]]] = {
    symbol: ([right.split() for _, right in rules], list(accumulate(weight for weight, _ in rules)))
    for symbol, rules in GRAMMAR.items()
}


@lru_cache(maxsize=8)
def _lexicon(ambiguity: float) -> dict[str, tuple[str, _Draw]]:
    """Give for each terminal its tag and a function that draws a word."""
    closed = {terminal: (tag, text.split()) for terminal, (tag, text) in CLOSED.items()}
    if ambiguity == 0:
        closed = _without_ambiguity(closed)
    lexicon: dict[str, tuple[str, _Draw]] = {
        terminal: (tag, _zipf_draw(words)) for terminal, (tag, words) in closed.items()
    }
    for terminal, words in _open_words(ambiguity).items():
        lexicon[terminal] = (OPEN[terminal].tag, _zipf_draw(words))
    lexicon["number"] = ("NUM", _draw_number)
    return lexicon


def _without_ambiguity(closed: dict[str, tuple[str, list[str]]]) -> dict[str, tuple[str, list[str]]]:
    """Leave each word to the tag that lists it first."""
    owner: dict[str, str] = {}
    for tag, words in closed.values():
        for word in words:
            owner.setdefault(word, tag)
    return {
        terminal: (tag, [word for word in words if owner[word] == tag]) for terminal, (tag, words) in closed.items()
    }


def _open_words(ambiguity: float) -> dict[str, list[str]]:
    """Make the words of the open classes, most frequent first."""
    rng = random.Random(LANGUAGE_SEED)
    used = {word for _, text in CLOSED.values() for word in text.split()} | set(NUMBER_WORDS)
    made: dict[str, list[str]] = {}
    bare_nouns: list[str] = []
    for terminal, open_class in OPEN.items():
        words = [_new_word(open_class, rank, rng, used) for rank in range(open_class.size)]
        if open_class.tag == "NOUN":
            bare_nouns = [word for word in words if not word.endswith(open_class.suffixes)]
        if open_class.shared is not None:
            words = _with_shared(words, bare_nouns[open_class.shared :: 2], ambiguity)
        made[terminal] = words
    return made


def _with_shared(words: list[str], nouns: list[str], ambiguity: float) -> list[str]:
    """Replace a share of the words by nouns of like rank; the golden ratio spreads them over all ranks."""
    return [nouns[rank] if (rank * GOLDEN_RATIO) % 1 < ambiguity else word for rank, word in enumerate(words)]


def _new_word(open_class: _OpenClass, rank: int, rng: random.Random, used: set[str]) -> str:
    while True:
        stem = _stem(rank, rng)
        suffix = "" if rng.random() < open_class.bare else rng.choice(open_class.suffixes)
        word = (stem + suffix).capitalize() if open_class.capital else stem + suffix
        if word not in used:
            used.add(word)
            return word


def _stem(rank: int, rng: random.Random) -> str:
    """Draw a stem of two or three syllables: frequent words are short, as in natural languages."""
    syllables = 2 if rank < 200 or rng.random() < 0.7 else 3
    return "".join(rng.choice(ONSETS) + rng.choice(VOWELS) for _ in range(syllables)) + rng.choice(CODAS)


def _zipf_draw(words: Sequence[str]) -> _Draw:
    bounds = list(accumulate(1 / (rank + 2) for rank in range(len(words))))
    return lambda rng: words[_pick(bounds, rng)]


def _draw_number(rng: random.Random) -> str:
    if rng.random() < 0.5:
        return NUMBER_WORDS[int(rng.random() * len(NUMBER_WORDS))]
    return str(int(10_000 * rng.random() * rng.random()))


if __name__ == "__main__":
    sys.exit(main())
