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


def treebank(corpus: str, ending: str, trees: Trees, *, xpos: bool, together: bool = False) -> Adapter:
    """Return the adapter of a treebank; `together` scores on the development and the test part."""
    name = f"{corpus} {trees.name}".strip()

    def read(folder: Path, count: int | None) -> Problem:
        train, dev, test = (
            _read(folder / corpus / f"{part}.{ending}.xz").some(count) for part in ("train", "dev", "test")
        )

        def problem(scored: Sentences) -> Problem:
            def make() -> Parts:
                options = {"order": trees.order, "projective": trees.projective, "kept": trees.kept, "xpos": xpos}
                return Parts(*parse_parts((train.X, train.y), (scored.X, scored.y), **options))

            return Problem(name, len(train.X), C, "uas", make)

        return replace(problem(dev + test if together else test), development=lambda: problem(dev))

    return read


def all_treebanks() -> dict[str, Adapter]:
    """Return every treebank with every kind of trees, by name."""
    found = {}
    for trees in (*VARIANTS, KEPT):
        made = {
            "ud_english_ewt": treebank("ud_english_ewt", "conllu", trees, xpos=True),
            "wsj_sample_dep": treebank("wsj_sample_dep", "conll", trees, xpos=False),
            "ud_dutch_lassysmall": treebank("ud_dutch_lassysmall", "conllu", trees, xpos=False, together=True),
        }
        found |= {f"{corpus} {trees.name}".strip(): adapter for corpus, adapter in made.items()}
    return found
