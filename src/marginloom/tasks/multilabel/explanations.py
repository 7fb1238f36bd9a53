"""Why a multilabel classifier gives these labels: differences of feature vectors of two sets, with names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError
from marginloom.tasks.base.example_shares import (
    DAMAGED,
    Product,
    TrainingExamples,
    check_training,
    dual_terms,
    explanation_of,
)
from marginloom.tasks.base.explanation import Compared, Explanation, FeatureWeights, Part, Wanted
from marginloom.tasks.base.row_parts import row_of, row_weights
from marginloom.tasks.multilabel.features import LabelledRows, encode_labels
from marginloom.tasks.multilabel.label_sets import PackedSets
from marginloom.tasks.multilabel.model import MultilabelModel
from marginloom.tasks.multilabel.task import MultilabelTask
from marginloom.training.state import State


def compared(model: MultilabelModel, X: Any, example: int, wanted: Wanted) -> Compared:
    """Return the predicted set of an example next to what is to be compared with it."""
    wanted.whole_only()
    x, features = row_of(model.rows(X), example, model.bias)
    best = frozenset(model.predict(x).members(0).tolist())
    chosen = wanted.gold if wanted.gold is not None else wanted.instead
    if chosen is not None:
        other = frozenset(_label(model, name) for name in _names(chosen))
    else:
        found = model.predict_k_best(x, 2)[0]
        if len(found) < 2:
            raise InputError("there is one set only, so there is nothing to compare it with")
        other = frozenset(found[1][0].tolist())
    names, core = model.labels.names, model.task_of(x).core
    parts = [
        Part(core.first_row + place * core.stride + label, sign * value, name, str(names[label]))
        for place, value, name in features
        for label, sign in [*((label, 1.0) for label in best - other), *((label, -1.0) for label in other - best)]
    ]
    for place, (a, b) in enumerate(model.pairs):
        sign = float({a, b} <= best) - float({a, b} <= other)
        if sign:
            parts.append(Part(place, sign, f"with {names[b]}", str(names[a])))
    shown = [sorted((names[label] for label in labels), key=str) for labels in (best, other)]
    return Compared(shown[0], shown[1], parts)


def _names(given: Any) -> Iterable[Any]:
    if isinstance(given, str):
        return [name for name in given.split(",") if name]
    return given if isinstance(given, Iterable) else [given]


def _label(model: MultilabelModel, name: Any) -> int:
    return model.labels.find(next((own for own in model.labels.names if str(own) == str(name)), name))


def features_of(model: MultilabelModel, X: Any, example: int) -> list[FeatureWeights]:
    """Return the features of an example with their weights."""
    x, features = row_of(model.rows(X), example, model.bias)
    return row_weights(features, model.task_of(x).label_weights(model.weights), model.labels.names)


def training_examples(model: MultilabelModel, labelled: LabelledRows, state: State) -> TrainingExamples:
    """Return the examples that the classifier was trained on, cut as the state has them."""
    gold, unseen = encode_labels(model.labels, labelled.labels)
    if unseen:
        raise InputError("the training examples have labels that the model does not know: give those of its training")
    for per_slack in (None, 8, 1):
        task = MultilabelTask(
            model.rows(labelled.X),
            gold,
            len(model.labels.names),
            pairs=model.pairs or None,
            labels_per_slack=None if model.pairs else per_slack,
            bias=model.bias,
        )
        if task.fingerprint == state.fingerprint:
            break
    return TrainingExamples(task, [f"row {i + 1}" for i in range(task.example_count)])


def _label_scores(model: MultilabelModel, X: Any, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the scores of all labels, a row per example, without what pairs of labels add."""
    rows = model.task_of(X).label_weights(weights)
    scores = np.asarray(model.rows(X) @ rows[: model.n_features])
    return scores + model.bias * rows[model.n_features] if model.bias else scores


def decision_terms(
    training: TrainingExamples,
    model: MultilabelModel,
    state: State,
    X: Any,
    gold: PackedSets,
    delta: NDArray[np.float64],
) -> list[tuple[int, float]]:
    """Return the terms of binary decisions: for every example the sum over labels of alpha_il s_il x_i.delta_l."""
    labels = len(model.labels.names)
    groups = -(-labels // 8)
    packed, stored = state.arrays["decisions"], state.arrays.get("decision_duals", np.zeros(0))
    if packed.dtype != np.uint8 or packed.size != X.shape[0] * groups or not np.isfinite(stored).all():
        raise InputError(DAMAGED)
    used = np.unpackbits(packed.reshape(-1, groups), axis=1, bitorder="little")[:, :labels] != 0
    if stored.shape != (np.count_nonzero(used),):
        raise InputError(DAMAGED)
    duals = np.zeros(used.shape)
    duals[used] = stored
    signs = np.where(gold.dense()[:, :labels] != 0, 1.0, -1.0)
    scores = _label_scores(model, X, delta)
    per_row = training.task.core.examples_per_row  # terms are those of examples, of which a row may have several
    return [(row * per_row, term) for row, term in enumerate((duals * signs * scores).sum(axis=1).tolist())]


def product(training: TrainingExamples, model: MultilabelModel, X: Any, gold: PackedSets, delta: Any) -> Product:
    """Return what computes d_iy.delta: by how much the gold set is ahead of another one with the weights delta."""
    labels, per_row = len(model.labels.names), training.task.core.examples_per_row
    part = -(-labels // per_row) if per_row > 1 else labels
    scores = _label_scores(model, X, delta)
    right = gold.dense()[:, :labels].astype(np.float64)

    def of(example: int, output: bytes) -> float:
        row, place = divmod(example, per_row)
        columns = slice(place * part, min((place + 1) * part, labels))
        size = columns.stop - columns.start
        bits = np.unpackbits(np.frombuffer(output, np.uint8), bitorder="little")[:size].astype(np.float64)
        total = float(scores[row, columns] @ (right[row, columns] - bits))
        for pair, (a, b) in enumerate(model.pairs):
            total += float(delta[pair]) * float(right[row, a] * right[row, b] - bits[a] * bits[b])
        return total

    return of


def explain(
    model: MultilabelModel,
    X: Any,
    example: int,
    wanted: Wanted,
    training: LabelledRows | None = None,
) -> Explanation:
    """Return why the classifier gives an example its labels, with shares of training examples if these are given."""
    found = compared(model, X, example, wanted)
    if training is None:
        return explanation_of(model, found)

    def terms_of(state: State, delta: NDArray[np.float64]) -> tuple[TrainingExamples, Iterable[tuple[int, float]]]:
        examples = training_examples(model, training, state)
        check_training(state, examples.task)
        gold = encode_labels(model.labels, training.labels)[0]
        if "decisions" in state.arrays:
            return examples, decision_terms(examples, model, state, training.X, gold, delta)
        return examples, dual_terms(state, product(examples, model, training.X, gold, delta))

    return explanation_of(model, found, terms_of)
