"""Where benchmarks reach below the public names of marginloom: if it moves something, only this file follows."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom import ALGORITHMS, Callback, DependencyParser, Result, SequenceTagger, _core, find_algorithm
from marginloom.common.threads import available_cores
from marginloom.core.task import Task
from marginloom.features import ExtractedFeatures, MatrixFeatures
from marginloom.io.conll import read_corpus
from marginloom.tasks.base.estimator import Estimator
from marginloom.tasks.base.model import Prepared
from marginloom.tasks.detection.boxes import loss_tables
from marginloom.tasks.detection.images import ImageSet
from marginloom.tasks.detection.metrics import detection_scores
from marginloom.tasks.detection.task import DetectionTask
from marginloom.tasks.multiclass.task import MulticlassTask
from marginloom.tasks.multilabel.label_sets import unpack
from marginloom.tasks.multilabel.metrics import multilabel_scores
from marginloom.tasks.multilabel.task import MultilabelTask
from marginloom.tasks.parse.features import ArcFeatureSet
from marginloom.tasks.parse.metrics import parse_scores
from marginloom.tasks.parse.model import ParseProblem
from marginloom.tasks.parse.task import BeamOptions
from marginloom.tasks.parse.treebank import Treebank
from marginloom.tasks.relations import task as relations_task
from marginloom.tasks.relations.evaluator import Labelled
from marginloom.tasks.relations.features import SpanFeatureSet
from marginloom.tasks.relations.integer_program import IntegerProgram
from marginloom.tasks.relations.problem import RelationsProblem
from marginloom.tasks.relations.records import checked_sentences
from marginloom.tasks.relations.task import RelationsTask as RelationTask
from marginloom.tasks.relations.task import Solver
from marginloom.tasks.sequence.features import labelled_sentences
from marginloom.tasks.sequence.metrics import sequence_scores
from marginloom.tasks.sequence.model import SequenceProblem
from marginloom.tasks.sequence.task import SequenceTask
from marginloom.training.checks import check_loss
from marginloom.training.objective import primal, relative_gap
from marginloom.training.options import checked_spec
from marginloom.training.spec import RunSpec
from marginloom.training.train import train_as

__all__ = [
    "IntegerProgram",
    "MulticlassTask",
    "MultilabelTask",
    "Prepared",
    "RelationTask",
    "Score",
    "Task",
    "available_cores",
    "can_run",
    "certifying_presets",
    "choose_and_train",
    "detection_parts",
    "encoded_relations",
    "instruction_set",
    "loss_of",
    "micro_f1",
    "multilabel_score",
    "parse_parts",
    "parse_score",
    "parsing_seconds",
    "predict_all",
    "prepared",
    "primal",
    "read_columns",
    "relative_gap",
    "search_seconds",
    "sequence_parts",
    "sequence_scores",
    "tag_columns",
    "tagging_seconds",
    "token_accuracy",
    "with_integer_program",
    "works",
]

#: The score of weights.
Score = Callable[[NDArray[np.float64]], float]


def instruction_set() -> str:
    """Return the name of the vector instructions in use."""
    return str(_core.simd_selected())


def loss_of(algorithm: str, loss: str | None) -> str | None:
    """Return the loss that an algorithm minimises if this one is asked for; None if it has no objective."""
    return check_loss(find_algorithm(algorithm).learner, loss)


def can_run(algorithm: str, engine: Mapping[str, Any], threads: int, task: Task) -> bool:
    """Say whether the engine has enough threads, and the task what it needs."""
    chosen = find_algorithm(algorithm, engine=engine or None)
    needs = chosen.learner.all_needs() | chosen.engine.needs
    return threads >= chosen.engine.minimum_threads and needs <= set(task.core.capabilities)


def certifying_presets(loss: str, threads: int) -> list[str]:
    """Return the presets with a certificate that have a loss and an engine for so many threads."""
    return [
        name
        for name, preset in ALGORITHMS.items()
        if preset.learner.has_dual() and loss in preset.learner.losses and preset.engine.least_threads() <= threads
    ]


def prepared(estimator: Estimator, X: Any, y: Any, algorithm: str = "auto") -> Prepared[Any]:
    """Encode what an estimator would train on, once: the task, and the run that it would ask for."""
    problems: list[Any] = []

    class Unfitted(type(estimator)):  # type: ignore[misc]
        """Keeps the problem instead of training on it."""

        def _fit(self, pose: Any, **rest: Any) -> Any:
            posed, _ = pose()
            problems.append(posed.problem)
            return self

    own = Unfitted(**{**estimator.get_params(deep=False), "algorithm": algorithm})
    own.fit(X, y)
    ready: Prepared[Any] = problems[0].prepare(checked_spec(RunSpec.of(own)))
    fields = {field.name: getattr(ready.spec, field.name) for field in dataclasses.fields(RunSpec)}
    return ready._replace(spec=RunSpec(**fields))  # of which the algorithm may be changed


def choose_and_train(ready: Prepared[Any], algorithm: str, threads: int, callback: Callback) -> Result:
    """Train what was prepared."""
    changed = {"algorithm": algorithm, "n_threads": threads, "callbacks": [callback]}
    return train_as(ready.task, dataclasses.replace(ready.spec, **changed))


def sequence_parts(
    training: tuple[Sequence[Any], Sequence[Sequence[str]]],
    scored: tuple[Sequence[Any], Sequence[Sequence[str]]],
    features: Mapping[str, Any] | None,
    constraints: str | None,
    score_name: str,
    options: Mapping[str, Any],
) -> tuple[SequenceTask, Score]:
    """Encode sequences once: a task to train on, and what scores weights; X are matrices if `features` is None.

    `options` are those of `SequenceProblem`, such as `beam`.
    """
    problem = SequenceProblem(
        training=labelled_sentences(*training, None),
        features=MatrixFeatures() if features is None else ExtractedFeatures(**features),
        constraints=constraints,
        **options,
    )
    model, task, *_ = problem.prepare(RunSpec())
    assert isinstance(task, SequenceTask)
    evaluator = model.evaluator(labelled_sentences(*scored, None))
    return task, lambda weights: float(evaluator(weights)[score_name])


def tagging_seconds(
    tagger: SequenceTagger, sentences: Sequence[Any], repeats: int = 5, *, extracting: bool = False
) -> float:
    """Return the least CPU seconds of labelling sentences on one thread, with or without extracting their features."""
    model, found = tagger.model_, []
    encoded = model.features.transform(sentences)
    for _ in range(repeats):
        start = time.process_time()
        if extracting:
            encoded = model.features.transform(sentences)
        model.task_of(encoded).core.predict(model.weights, 1, 1)
        found.append(time.process_time() - start)
    return min(found)


def parse_parts(
    training: tuple[Sequence[Any], Sequence[Any]],
    scored: tuple[Sequence[Any], Sequence[Any]],
    *,
    order: int,
    projective: bool,
    kept: bool,
    xpos: bool,
    search: Mapping[str, Any] | None = None,
    features: str = "auto",
) -> tuple[Task, Score]:
    """Encode sentences with their trees once: a task to train on, and what computes `uas` of weights.

    `search` are the options of a search from left to right with a beam; None for graphs.
    """
    method = "graph" if search is None else "transition"
    hash_bits = None if kept else "auto"
    options = {"method": method, "order": order, "labelled": False, "xpos": xpos, "hash_bits": hash_bits}
    problem = ParseProblem(
        training=Treebank.from_lists(*training),
        features=ArcFeatureSet(features, **options),
        projective=projective,
        feature_cache="8GB" if kept else None,
        search=None if search is None else BeamOptions(**search),
    )
    model, task, *_ = problem.prepare(RunSpec())
    evaluator = model.evaluator(Treebank.from_lists(*scored))
    return task, lambda weights: float(evaluator(weights)["uas"])


def parsing_seconds(parser: DependencyParser, sentences: Sequence[Any], repeats: int = 3) -> float:
    """Return the least CPU seconds of finding the trees of sentences, whose words have been looked at before."""
    bank = Treebank.from_lists(sentences, [[0, *[1] * (len(words) - 1)] for words in sentences])
    task = parser.model_.task_of(bank.source, bank.sentences)
    found = []
    for _ in range(repeats):
        start = time.process_time()
        task.core.predict(parser.model_.weights, 1, 1)
        found.append(time.process_time() - start)
    return min(found)


def parse_score(sentences: Sequence[Any], gold: Sequence[Any], predicted: Sequence[Any]) -> dict[str, float]:
    """Return `uas` and `las` of trees whose words are pairs (head, label)."""
    words = [word[0] for sentence in sentences for word in sentence]
    offsets = np.cumsum([0, *map(len, sentences)])
    (heads, labels), (found, own) = (
        zip(*itertools.chain.from_iterable(trees), strict=True) for trees in (gold, predicted)
    )
    scores = parse_scores(words, offsets, np.array(heads), np.array(found), labels, own)
    return {name: float(scores[name]) for name in ("uas", "las")}


def search_seconds(task: Task, weights: NDArray[np.float64], repeats: int = 3) -> NDArray[np.float64]:
    """Return the seconds of the search of every example for an online learner, on one thread: the least of some."""
    examples = np.arange(task.core.size, dtype=np.uint64)
    found: NDArray[np.float64] = np.min(
        [task.core.search_seconds(weights, examples, 0.0) for _ in range(repeats)], axis=0
    )
    return found


def works(task: Task) -> NDArray[np.float64]:
    """Return what the task expects of every search, such as the length of a sentence."""
    return np.array([task.core.work(i) for i in range(task.core.size)])


def encoded_relations(
    train: Sequence[Any], scored: Sequence[Any], *, solver: str
) -> tuple[RelationTask, Callable[[NDArray[np.float64]], dict[str, float]]]:
    """Encode sentences once: a task to train on, and what computes the scores of weights on other sentences."""
    problem = RelationsProblem(
        training=checked_sentences(train, labelled=True),
        features=SpanFeatureSet(),
        solver=Solver(solver),
        invalid_gold="repair",
    )
    model, task, *_ = problem.prepare(RunSpec())
    assert isinstance(task, RelationTask)
    evaluator = dataclasses.replace(model, solver=Solver()).evaluator(
        Labelled(checked_sentences(scored, labelled=True))
    )
    return task, lambda weights: dict(evaluator(weights))


@contextmanager
def with_integer_program(program: type[IntegerProgram]) -> Iterator[None]:
    """Let tasks that are made within a ``with`` block solve another class's integer programs."""
    usual = relations_task.IntegerProgram
    relations_task.IntegerProgram = program  # type: ignore[misc]
    try:
        yield
    finally:
        relations_task.IntegerProgram = usual  # type: ignore[misc]


def predict_all(task: Any) -> None:
    """Find the best tree of every sentence of a task with random weights, on one thread."""
    task.predict(np.random.default_rng(0).normal(size=task.core.dimension), 1)


def token_accuracy(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> float:
    """Return the share of tokens with the right label."""
    return float(sequence_scores(gold, predicted)["accuracy"])


def read_columns(path: Path) -> Any:
    """Return a file's columns as they lie in memory."""
    return read_corpus([str(path)])


def tag_columns(tagger: SequenceTagger, columns: Any, threads: int) -> None:
    """Label the sentences of columns without making lists of strings."""
    tagger.model_.predict(columns, threads)


def multilabel_score(task: MultilabelTask, gold: NDArray[np.uint8]) -> Score:
    """Return what computes micro F1 of weights on the rows of a task."""
    labels = gold.shape[1]
    return lambda weights: micro_f1(gold, unpack(task.predict(weights, available_cores()), labels))


def micro_f1(gold: NDArray[np.uint8], predicted: NDArray[np.uint8]) -> float:
    """Return micro F1 of label sets."""
    return float(multilabel_scores(gold, predicted)["micro_f1"])


def detection_parts(train: Any, test: Any, side: int) -> tuple[DetectionTask, Score]:
    """Make a task of images with a square each, and what computes the accuracy of detection of weights."""
    sizes = [(side, side)]
    labels = range(10)
    gold = np.column_stack([train.labels, np.zeros(len(train.labels), dtype=np.int64), train.boxes[:, :2]])
    task = DetectionTask(
        ImageSet.pack(train.images),
        gold.astype(np.uint32),
        len(labels),
        sizes,
        losses=loss_tables("iou", labels, sizes),
    )
    test_task = DetectionTask(ImageSet.pack(test.images), None, len(labels), sizes)

    def score(weights: NDArray[np.float64]) -> float:
        windows, _, _ = test_task.predict_k_best(weights, 1, available_cores())
        boxes = np.column_stack([windows[:, 2:], np.full((len(windows), 2), side)])
        return detection_scores(test.labels, test.boxes, windows[:, 0], boxes)["detection_accuracy"]

    return task, score
