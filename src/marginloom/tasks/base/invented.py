"""The words of an invented language, for made-up data of several tasks, and the files that such data is written to.

The language has English function words and some thousands of made-up words, in the manner of Jabberwocky.
"""

from __future__ import annotations

import argparse
import random
import sys
from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeAlias

from marginloom.errors import InputError
from marginloom.io.names import quoted

Make: TypeAlias = Callable[..., tuple[Sequence[Any], Sequence[Any]]]
Write: TypeAlias = Callable[[Path, Any, Any], None]

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

Draw: TypeAlias = Callable[[random.Random], str]


@lru_cache(maxsize=8)
def lexicon(ambiguity: float) -> dict[str, tuple[str, Draw]]:
    """Return for each terminal its tag and a function that draws a word; a share of the words has several tags.

    Examples
    --------
    >>> tag, draw = lexicon(0.2)["question"]
    >>> tag, draw(random.Random(0))
    ('PUNCT', '?')
    """
    closed = {terminal: (tag, text.split()) for terminal, (tag, text) in CLOSED.items()}
    if ambiguity == 0:
        closed = _without_ambiguity(closed)
    made: dict[str, tuple[str, Draw]] = {terminal: (tag, zipf_draw(words)) for terminal, (tag, words) in closed.items()}
    for terminal, words in open_words(ambiguity).items():
        made[terminal] = (OPEN[terminal].tag, zipf_draw(words))
    made["number"] = ("NUM", _draw_number)
    return made


def _without_ambiguity(closed: dict[str, tuple[str, list[str]]]) -> dict[str, tuple[str, list[str]]]:
    """Leave each word to the tag that lists it first."""
    owner: dict[str, str] = {}
    for tag, words in closed.values():
        for word in words:
            owner.setdefault(word, tag)
    return {
        terminal: (tag, [word for word in words if owner[word] == tag]) for terminal, (tag, words) in closed.items()
    }


def open_words(ambiguity: float) -> dict[str, list[str]]:
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


def zipf_draw(words: Sequence[str]) -> Draw:
    """Return a function that draws words by Zipf's law, the first most often."""
    bounds = list(accumulate(1 / (rank + 2) for rank in range(len(words))))
    return lambda rng: words[pick(bounds, rng)]


def _draw_number(rng: random.Random) -> str:
    if rng.random() < 0.5:
        return NUMBER_WORDS[int(rng.random() * len(NUMBER_WORDS))]
    return str(int(10_000 * rng.random() * rng.random()))


def pick(bounds: Sequence[float], rng: random.Random) -> int:
    """Draw an index, given the cumulative weights."""
    return bisect(bounds, rng.random() * bounds[-1], hi=len(bounds) - 1)


@dataclass(frozen=True)
class Share:
    """An option of a program that writes made-up data: a share of something."""

    name: str
    default: float
    help: str


def write_made_up(
    arguments: Sequence[str] | None, task: str, ending: str, what: str, share: Share, make: Make, write: Write
) -> int:
    """Write train, dev and test files with 80, 10 and 10 percent of made-up sentences.

    Parameters
    ----------
    arguments : sequence of str, optional
        The arguments of the command line; by default those of the process.
    task, ending, what : str
        The task's package, how files end, and what sentences come with.
    share : Share
        The option that `make` has beside the seed.
    make : callable
        Makes so many sentences: inputs and right outputs.
    write : callable
        Writes some of them to a file.

    Returns
    -------
    int
        The exit code: 0 done, 1 failed with a message on standard error.
    """
    names = ", ".join(f"{part}.{ending}" for part in ("train", "dev", "test"))
    parser = argparse.ArgumentParser(
        prog=f"python -m marginloom.tasks.{task}.datasets",
        description=f"Write invented sentences with {what}: {names}.",
    )
    parser.add_argument("folder", type=Path, help="where to write; created if it is missing")
    parser.add_argument("--sentences", type=int, default=3000, help="how many in all, at least 10 (default 3000)")
    parser.add_argument("--seed", type=int, default=0, help="chooses the sentences (default 0)")
    parser.add_argument(
        f"--{share.name}", type=float, default=share.default, help=f"{share.help} (default {share.default:g})"
    )
    options = parser.parse_args(arguments)
    if options.sentences < 10:
        parser.error(f"--sentences is {options.sentences}; three parts need at least 10")
    try:
        X, y = make(options.sentences, seed=options.seed, **{share.name: getattr(options, share.name)})
        _make_folder(options.folder)
        for name, part in _parts_of(options.sentences).items():
            write(options.folder / f"{name}.{ending}", X[part], y[part])
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _make_folder(folder: Path) -> None:
    """Create a folder unless it is there; `InputError` if that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot create the folder {quoted(folder)}: the system says {error.strerror!r}; choose another path"
        ) from error


def _parts_of(n_sentences: int) -> dict[str, slice]:
    """Return which sentences are for training, development and test: 80, 10 and 10 percent.

    Examples
    --------
    >>> _parts_of(20)["dev"]
    slice(16, 18, None)
    """
    ends = [0, n_sentences * 8 // 10, n_sentences * 9 // 10, n_sentences]
    return {name: slice(*ends[i : i + 2]) for i, name in enumerate(("train", "dev", "test"))}
