"""Trees as a parser finds them in sentences that it was not trained on: what a second step will meet."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.tasks.parse.sentences import lengths_of
from marginloom.tasks.parse.task import TreeOptions, Trees
from marginloom.tasks.parse.transition import task_class
from marginloom.training.spec import RunSpec
from marginloom.training.train import train_as

FOLDS = 5
#: Passes of the averaged perceptron, which comes close to slower learners after a few.
PASSES = 5


def jackknifed(
    sentences: NDArray[np.uint64],
    values: NDArray[np.uint64],
    features: Any,
    options: TreeOptions,
    gold: Trees,
    spec: RunSpec,
) -> NDArray[np.uint16]:
    """Return the heads of all words, each sentence parsed by a parser that was trained on the other folds.

    Sentences in which other words than the gold ones are roots keep their gold tree: labels of roots are others.

    Parameters
    ----------
    sentences, values, features, options, gold
        As `ParseTask` takes them.
    spec : RunSpec
        Its seed is taken.
    """
    lengths = lengths_of(sentences)
    folds = np.arange(lengths.size) % min(FOLDS, lengths.size)
    heads = gold.heads.copy()
    run = RunSpec(algorithm="averaged-perceptron", max_iter=PASSES, random_state=spec.random_state, n_threads=1)
    for fold in range(int(folds.max(initial=0)) + 1):
        words = np.repeat(folds == fold, lengths)
        if words.all() or not words.any():
            continue
        task = task_class(options)(
            _offsets(lengths[folds != fold]), values[~words], features, options, Trees(gold.heads[~words], None)
        )
        found = train_as(task, run)
        held_out = task_class(options)(_offsets(lengths[folds == fold]), values[words], features, options)
        heads[words] = held_out.predict(found.weights).heads
    other_roots = (heads == 0) != (gold.heads == 0)
    kept = np.bincount(np.repeat(np.arange(lengths.size), lengths)[other_roots], minlength=lengths.size) > 0
    return np.where(np.repeat(kept, lengths), gold.heads, heads)


def _offsets(lengths: NDArray[np.int64]) -> NDArray[np.uint64]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64)
