"""Predicts for one example with every kind of model, and tells what the system was asked for; a program of its own.

It prints a JSON object with the audit events of every call, and with the calls that could not start a thread.
"""

from __future__ import annotations

import functools
import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from marginloom import (
    CustomEstimator,
    DependencyParser,
    MulticlassClassifier,
    MultilabelClassifier,
    ObjectDetector,
    RelationExtractor,
    SequenceTagger,
    make_digit_detection,
    make_relations,
    make_tagging,
)
from marginloom.tasks.parse.datasets import make_treebank
from support.custom_chains import Majority, votes

#: Several threads, and all cores, whose number the system is asked for.
THREADS = (2, -1)


def fitted():
    """Return an estimator of each kind, and many inputs for it."""
    short = {"C": 0.1, "tol": 0.9}
    words, tags = make_tagging(60, seed=0)
    named = [[{"word": word} for word in sentence] for sentence in words]
    trees = make_treebank(200, seed=0)
    rows = np.random.default_rng(0).normal(size=(2000, 4))
    sparse, classes, sets = csr_matrix(rows), rows[:, :3].argmax(axis=1), (rows > 0).astype(int)
    digits = make_digit_detection(20, seed=0)
    choices = votes(100)
    entities = make_relations(300, seed=0)
    return {
        "tag words": (SequenceTagger(features="tagging", **short).fit(words, tags), words),
        "tag words, hashed": (SequenceTagger(features="tagging", hash_bits=10, **short).fit(words, tags), words),
        "tag features": (SequenceTagger(**short).fit(named, tags), named),
        "parse": (DependencyParser(hash_bits=12, **short).fit(*trees), trees[0]),
        "parse, labelled": (DependencyParser(labelled=True, hash_bits=12, **short).fit(*trees), trees[0]),
        "classify": (MulticlassClassifier(**short).fit(rows, classes), rows),
        "classify, sparse": (MulticlassClassifier(**short).fit(sparse, classes), sparse),
        "label": (MultilabelClassifier(**short).fit(rows, sets), rows),
        "detect": (ObjectDetector(**short).fit(digits.images, digits.targets), digits.images),
        "relations": (RelationExtractor(**short).fit(entities), entities),
        "custom": (CustomEstimator(task=Majority, **short).fit(*choices), choices[0]),
    }


def calls() -> Iterator[tuple[str, Callable[[int], object]]]:
    """Yield every method that predicts, by name, as a function of the number of examples."""
    for name, (model, X) in fitted().items():
        for method in ("predict", "predict_k_best", "decision_function"):
            if hasattr(model, method) and (name, method) != ("custom", "predict_k_best"):  # which it has not written
                yield f"{name}: {method}", functools.partial(_call, model, method, X)


def _call(model, method, X, count):
    return [getattr(model.set_params(n_threads=threads), method)(X[:count]) for threads in THREADS]


def watched(every):
    """Return what each call for one example asks the system for, after a first one."""
    seen: list[str] = []
    sys.addaudithook(lambda event, arguments: seen.append(f"{event} {arguments}"))
    found = {}
    for name, call in every.items():
        call(1)
        seen.clear()
        call(1)
        found[name] = [event for event in seen if event.startswith(("open ", "os.", "import ", "_thread.", "socket."))]
    seen.clear()
    Path("/dev/null").open().close()
    return {**found, "control": seen.copy()}


def starts_threads(call, attempts):
    """Tell whether a call starts threads: the system numbers them one after the other, with those of other processes.

    Numbers that others take in between look like threads, so that a call without any may need some attempts.
    """
    for _ in range(attempts):
        before = _next_number()
        call()
        if _next_number() == before + 1:
            return False
    return True


def _next_number():
    numbers = []
    thread = threading.Thread(target=lambda: numbers.append(threading.get_native_id()))
    thread.start()
    thread.join()
    return numbers[0]


def with_threads(every):
    """Return the calls, for one example and for many, that start threads."""
    return {
        "one": [name for name, call in every.items() if starts_threads(lambda call=call: call(1), 2000)],
        "many": [name for name, call in every.items() if starts_threads(lambda call=call: call(10**6), 3)],
    }


def main():
    every = dict(calls())
    print(json.dumps({"asked": watched(every), "threads": with_threads(every)}))


if __name__ == "__main__":
    main()
