"""Dependency trees: a treebank with the trees that are learnt from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from harness.files import required
from harness.package import parse_parts
from harness.problem import Adapter, Parts, Problem, sample
from marginloom import read_conllu

#: Of all of them; parsing.py chooses its own.
C = 0.01


@dataclass(frozen=True)
class Trees:
    """Which trees are learnt; `name` distinguishes them, and is empty for projective ones of first order."""

    name: str = ""
    order: int = 1
    projective: bool = True
    kept: bool = False  # features of right arcs alone, numbered and found before training
    features: str = "auto"
    beam: int | None = None  # from left to right, with so many states
    merging: bool = True
    update: str = "max-violation"

    @property
    def search(self) -> dict[str, Any] | None:
        """The options of a beam, None for graphs."""
        if self.beam is None:
            return None
        return {"beam": self.beam, "merging": self.merging, "update": self.update}

    @property
    def options(self) -> dict[str, Any]:
        """What an estimator takes for it."""
        own = {"order": self.order, "projective": self.projective, "features": self.features}
        return own if self.search is None else {"method": "transition", "features": self.features, **self.search}


FIRST, ANY = Trees(), Trees("non-projective", projective=False)
SIBLINGS, REARRANGED = Trees("order 2", order=2), Trees("order 2, non-projective", order=2, projective=False)
VARIANTS = (FIRST, ANY, SIBLINGS, REARRANGED)
KEPT = Trees("kept", kept=True)


@dataclass(frozen=True)
class Sentences:
    """Sentences with their trees."""

    X: list[Any]
    y: list[Any]

    def some(self, count: int | None) -> Sentences:
        """Return all, or a seeded sample."""
        places = sample(len(self.X), count).tolist()
        return Sentences([self.X[place] for place in places], [self.y[place] for place in places])

    def __add__(self, other: Sentences) -> Sentences:
        return Sentences(self.X + other.X, self.y + other.y)


@cache
def _read(path: Path) -> Sentences:
    return Sentences(*read_conllu(required(path)))


def treebank(corpus: str, trees: Trees, *, xpos: bool, together: bool = False) -> Adapter:
    """Return the adapter of a treebank; `together` scores on the development and the test part."""
    name = f"{corpus} {trees.name}".strip()

    def read(folder: Path, count: int | None) -> Problem:
        train, dev, test = (read_part(folder, corpus, part, count) for part in ("train", "dev", "test"))

        def problem(scored: Sentences) -> Problem:
            def make() -> Parts:
                options = {"order": trees.order, "projective": trees.projective, "kept": trees.kept, "xpos": xpos}
                options |= {"search": trees.search, "features": trees.features}
                return Parts(*parse_parts((train.X, train.y), (scored.X, scored.y), **options))

            return Problem(name, len(train.X), C, "uas", make)

        return replace(problem(dev + test if together else test), development=lambda: problem(dev))

    return read


#: How each treebank is read.
CORPORA: dict[str, dict[str, Any]] = {
    "ud_english_ewt": {"ending": "conllu", "xpos": True},
    "wsj_sample_dep": {"ending": "conll", "xpos": False},
    "ud_dutch_lassysmall": {"ending": "conllu", "xpos": False, "together": True},
}


def read_part(folder: Path, corpus: str, part: str, count: int | None = None) -> Sentences:
    """Return a part of a treebank, or a seeded sample of it."""
    return _read(folder / corpus / f"{part}.{CORPORA[corpus]['ending']}.xz").some(count)


def write_conllu(path: Path, sentences: Sentences) -> None:
    """Write words, both parts of speech, heads and labels, and nothing else, for other people's programs."""
    rows = [
        "".join(
            f"{place}\t{form}\t_\t{upos}\t{xpos}\t_\t{head}\t{label}\t_\t_\n"
            for place, ((form, upos, xpos), (head, label)) in enumerate(zip(words, tree, strict=True), 1)
        )
        for words, tree in zip(sentences.X, sentences.y, strict=True)
    ]
    path.write_text("".join(row + "\n" for row in rows), encoding="utf-8")


def trees_of(corpus: str, trees: Trees) -> Adapter:
    """Return the adapter of a treebank with a kind of trees."""
    return treebank(corpus, trees, **{name: value for name, value in CORPORA[corpus].items() if name != "ending"})


def all_treebanks() -> dict[str, Adapter]:
    """Return every treebank with every kind of trees, by name."""
    kinds = (*VARIANTS, KEPT)
    return {f"{corpus} {trees.name}".strip(): trees_of(corpus, trees) for trees in kinds for corpus in CORPORA}
