"""Entities and relations of CoNLL-2004: sentences, tasks to train on, and what scores weights."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.files import required
from harness.package import IntegerProgram, RelationTask, encoded_relations, with_integer_program
from marginloom import read_relations

FOLDER = "conll04"
PARTS = ("train", "dev", "test")
Sentences = list[dict[str, Any]]


def read_part(folder: Path, part: str, count: int | None = None) -> Sentences:
    """Return the sentences of a part, or the first ones of it."""
    return read_relations(required(folder / FOLDER / f"{part}.jsonl.xz"))[:count]


def eighty_twenty(sentences: Sentences, seed: int = 0) -> tuple[Sentences, Sentences]:
    """Return a random 80 % of the sentences, and the others."""
    order = np.random.default_rng(seed).permutation(len(sentences)).tolist()
    cut = len(order) * 4 // 5
    return [sentences[k] for k in sorted(order[:cut])], [sentences[k] for k in sorted(order[cut:])]


def folds(sentences: Sentences, count: int = 5) -> list[tuple[Sentences, Sentences]]:
    """Return training and test sentences of every fold; sentence k belongs to fold k modulo `count`."""
    return [
        (
            [one for k, one in enumerate(sentences) if k % count != fold],
            [one for k, one in enumerate(sentences) if k % count == fold],
        )
        for fold in range(count)
    ]


def as_bio(sentences: Sentences) -> tuple[list[list[tuple[str, str]]], list[list[str]]]:
    """Return words with their tags, and BIO labels, as a tagger of spans learns them."""
    words, labels = [], []
    for sentence in sentences:
        found = ["O"] * len(sentence["tokens"])
        for entity in sentence["entities"]:
            for place in range(entity["start"], entity["end"]):
                found[place] = ("B-" if place == entity["start"] else "I-") + entity["type"]
        words.append(list(zip(sentence["tokens"], sentence["pos"], strict=True)))
        labels.append(found)
    return words, labels


@dataclass(frozen=True)
class Encoded:
    """A task to train on with each solver, and the scores of weights on other sentences.

    Attributes
    ----------
    tasks : dict
        By the name of the solver.
    spans : list of int
        How many entities each sentence has.
    scores : callable
        From weights to the F1 of entities and of relations.
    """

    tasks: dict[str, RelationTask]
    spans: list[int]
    scores: Callable[[NDArray[np.float64]], dict[str, float]]


def encode(train: Sentences, scored: Sentences, solvers: Sequence[str]) -> Encoded:
    """Encode sentences once for every solver."""
    made = {solver: encoded_relations(train, scored, solver=solver) for solver in solvers}
    return Encoded(
        {solver: task for solver, (task, _) in made.items()},
        [len(sentence["entities"]) for sentence in train],
        next(iter(made.values()))[1],
    )


@dataclass
class Calls:
    """CPU seconds of integer programs: of every call, by thread, and of the part in HiGHS without Python's lock."""

    seconds: dict[int, list[float]] = field(default_factory=dict)
    solving: list[float] = field(default_factory=list)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record all integer programs of tasks that are made and used within a ``with`` block."""
        from scipy.optimize import _milp

        calls, solve = self, _milp._highs_wrapper

        class Recorded(IntegerProgram):
            def __call__(self, types: Any, pairs: Any) -> Any:
                start = time.thread_time()
                found = super().__call__(types, pairs)
                calls.seconds.setdefault(threading.get_ident(), []).append(time.thread_time() - start)
                return found

        def timed(*arguments: Any) -> Any:
            start = time.thread_time()
            found = solve(*arguments)
            calls.solving.append(time.thread_time() - start)
            return found

        _milp._highs_wrapper = timed
        try:
            with with_integer_program(Recorded):
                yield
        finally:
            _milp._highs_wrapper = solve

    def take(self) -> tuple[list[list[float]], float]:
        """Return the seconds of every call since the last time, a list a thread, and the share with Python's lock."""
        lists = list(self.seconds.values())
        total = sum(map(sum, lists))
        locked = 1 - sum(self.solving) / total if total else 0.0
        self.seconds.clear()
        self.solving.clear()
        return lists, locked
