"""What the command line knows of multiclass classifiers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from marginloom.commands.common import numbers_of_labels, usage_errors
from marginloom.commands.help import TRAINING
from marginloom.commands.rows import (
    LEGEND,
    FitInterceptOption,
    InterceptScalingOption,
    TrainingRows,
    describe_features,
    k_best_fields,
    predict_rows,
    rows_to_score,
)
from marginloom.commands.task_commands import EvaluateOptions, ExplainRequest, KBestOptions, TaskCommands
from marginloom.commands.training import TrainingData, run_training
from marginloom.commands.training_options import MinCountOption, TrainingOptions, training_command
from marginloom.common.parameters import checked
from marginloom.errors import InputError
from marginloom.io.confidence import WITHHELD, confidence_comment
from marginloom.io.files import decode_utf8, read_bytes, text_lines
from marginloom.io.libsvm import read_rows
from marginloom.io.names import shown
from marginloom.labels.numbered import NumberedLabels
from marginloom.tasks.base.explanation import Explanation, Wanted
from marginloom.tasks.base.inputs import bias_of
from marginloom.tasks.multiclass.explanations import explain
from marginloom.tasks.multiclass.features import LabelledRows
from marginloom.tasks.multiclass.model import ClassWeight, MulticlassModel, MulticlassProblem

_FIELD = re.compile(r"[^ \t\r\v\f]+")  # as in the files of examples


@training_command
def train(
    *,
    options: TrainingOptions,
    min_count: MinCountOption = 1,
    fit_intercept: FitInterceptOption = True,
    intercept_scaling: InterceptScalingOption = 1.0,
    class_weight: Annotated[
        list[str] | None,
        typer.Option(
            "--class-weight",
            metavar="LABEL=X",
            help="Multiply C by X for the examples of class LABEL. May be repeated. 'balanced' instead of LABEL=X "
            "gives all classes the same total weight.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    cost_matrix: Annotated[
        str | None,
        typer.Option(
            "--cost-matrix",
            metavar="FILE",
            help="File with the costs of errors; each line has a gold class, a predicted class and a cost. Errors "
            "that are not listed cost 1.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
) -> None:
    """Train a multiclass classifier on LIBSVM files."""
    with usage_errors():
        checked("min_count", min_count, "positive count")
        bias = bias_of(fit_intercept, intercept_scaling)
        balanced = class_weight == ["balanced"]
        given = {} if balanced else numbers_of_labels("--class-weight", class_weight or [], "or be 'balanced' alone")

    def read() -> TrainingData:
        rows = TrainingRows.read(options.training, min_count)
        labels = NumberedLabels.join([part.single_labels(rows.strings) for part in rows.files])
        weights: ClassWeight = "balanced" if balanced else {rows.label(name): x for name, x in given.items()}
        problem = MulticlassProblem(
            training=LabelledRows(rows.X, labels),
            bias=bias,
            class_weight=weights or None,
            cost_matrix=None if cost_matrix is None else _read_costs(cost_matrix, rows.label),
            settings={"min_count": min_count},
        )
        sets = {
            name: _read_examples(path, rows.X.shape[1], rows.strings, options.quiet)
            for name, path in options.evaluation_files.items()
        }
        return TrainingData(problem, sets)

    run_training(options, MulticlassModel, read, [] if cost_matrix is None else [("--cost-matrix", cost_matrix)])


class MulticlassCommands(TaskCommands[MulticlassModel, KBestOptions, EvaluateOptions]):
    """Predict, evaluate and inspect for classifiers."""

    train = staticmethod(train)
    plural = "classifiers"
    train_examples = (
        "marginloom train classify train.svm --dev dev.svm --model classes.safetensors",
        "marginloom train classify train.svm --class-weight balanced --C 1 --model balanced.safetensors",
    )
    model_type = MulticlassModel
    predict_options = KBestOptions
    evaluate_options = EvaluateOptions
    predict_help = (
        "Classifiers: the output for LIBSVM files has one line per example with its class. With --k-best K, a line "
        "has K classes, each followed by its score (and its probability if the model is calibrated), separated by "
        "tabs. Labels in the input are ignored. --confidence adds a comment with the probability."
    )

    def predict(self, model: MulticlassModel, options: KBestOptions) -> None:
        """Write the class of every example, or its k best classes with their scores."""
        names = [str(name) for name in model.labels.names]

        def lines(X: Any) -> str:
            numbers, scores = model.predict_k_best(X, options.k_best, options.threads)
            probabilities = None
            if options.with_confidence or (model.calibration is not None and options.k_best > 1):
                probabilities = model.k_best_probabilities(X, numbers, options.threads).tolist()
            return _prediction_lines(names, numbers.tolist(), scores.tolist(), probabilities, options)

        if options.with_confidence:
            _ = model.tempering  # before the long work
        predict_rows(options, model.n_features, lines)

    def read_labelled(self, model: MulticlassModel, options: EvaluateOptions) -> LabelledRows:
        """Read examples with their right classes."""
        return _read_examples(options.input, model.n_features, model.labels.strings)

    def explain(self, model: MulticlassModel, options: EvaluateOptions, request: ExplainRequest) -> Explanation:
        """Explain the prediction for a row."""
        labelled = self.read_labelled(model, options)
        training = _training_rows(model, request.training) if request.training else None
        gold = _gold_of(labelled, request.example) if request.gold else None
        wanted = Wanted(request.token, request.instead, gold)
        return explain(model, labelled.X, request.example, wanted, training)

    def describe(self, model: MulticlassModel) -> list[tuple[str, str]]:
        """Return the lines of `inspect` on features and classes."""
        return [
            describe_features(model.n_features, model.bias),
            ("classes", f"{len(model.labels.names)}: {model.labels.summary()}"),
        ]

    def legend(self, model: MulticlassModel) -> str:
        """Explain the numbers of features."""
        return LEGEND


def _prediction_lines(
    names: list[str],
    numbers: list[list[int]],
    scores: list[list[float]],
    probabilities: list[list[float]] | None,
    options: KBestOptions,
) -> str:
    """Return a line for each example: its class, or its best classes with scores and probabilities."""
    if options.k_best > 1:
        shares: Sequence[list[float] | None] = probabilities or [None] * len(numbers)
        lines = (
            "\t".join(k_best_fields([names[number] for number in own], values, probable))
            for own, values, probable in zip(numbers, scores, shares, strict=True)
        )
    elif probabilities is not None:
        lines = (
            (WITHHELD if options.withholds(p) else names[best]) + confidence_comment([p])
            for (best,), (p,) in zip(numbers, probabilities, strict=True)
        )
    else:
        lines = (names[best] for (best,) in numbers)
    return "".join(f"{line}\n" for line in lines)


def _read_costs(path: str, label: Callable[[str], Any]) -> dict[tuple[Any, Any], float]:
    """Read lines of a right class, a predicted one and a cost; what follows a # is passed over."""
    name = shown(path)
    costs: dict[tuple[Any, Any], float] = {}
    for number, line in enumerate(text_lines(decode_utf8(read_bytes(path), name)), start=1):
        fields = _FIELD.findall(line.partition("#")[0])
        if not fields:
            continue
        try:
            right, predicted, text = fields
            pair = label(right), label(predicted)
            cost = checked("the cost", float(text), "not negative")
        except InputError as error:
            raise InputError(f"{name}, line {number}: {error}") from error
        except ValueError as error:
            raise InputError(
                f"{name}, line {number}: found {line.strip()!r}, expected the gold class, a predicted one and a cost"
            ) from error
        if pair in costs:
            raise InputError(f"{name}, line {number}: {predicted} where {right} is right stands there twice")
        costs[pair] = cost
    return costs


def _training_rows(model: MulticlassModel, paths: list[str]) -> LabelledRows:
    """Read the training examples again, as training did."""
    rows = TrainingRows.read(paths, checked("min_count", model.settings.get("min_count", 1), "positive count"))
    if rows.X.shape[1] != model.n_features:
        raise InputError(
            f"the training files have {rows.X.shape[1]} features, and the model {model.n_features}: give those of its "
            "training"
        )
    labels = NumberedLabels.join([part.single_labels(rows.strings) for part in rows.files])
    return LabelledRows(rows.X, labels)


def _gold_of(labelled: LabelledRows, example: int) -> Any:
    names = NumberedLabels.of(labelled.labels).values().tolist()
    return names[example] if example < len(names) else None


COMMANDS = MulticlassCommands()


def _read_examples(path: str, n_features: int, strings: bool, quiet: bool = False) -> LabelledRows:
    """Read examples to score a model on, which has so many features, and names or numbers as labels."""
    rows = read_rows(path)
    return LabelledRows(rows_to_score(rows, n_features, quiet), rows.single_labels(strings))
