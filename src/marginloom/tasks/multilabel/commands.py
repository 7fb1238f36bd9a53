"""What the command line knows of multilabel classifiers."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from marginloom.commands.common import numbers_of_labels, usage_error, usage_errors
from marginloom.commands.help import STRUCTURE, TRAINING
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
from marginloom.commands.task_commands import (
    EvaluateOptions,
    ExplainRequest,
    KBestOptions,
    PredictOptions,
    TaskCommands,
)
from marginloom.commands.training import TrainingData, run_training
from marginloom.commands.training_options import MinCountOption, TrainingOptions, training_command
from marginloom.common.parameters import checked
from marginloom.errors import InputError
from marginloom.io.confidence import WITHHELD, confidence_comment
from marginloom.io.libsvm import read_rows
from marginloom.labels.numbered import NumberedSets
from marginloom.tasks.base.explanation import Explanation, Wanted
from marginloom.tasks.base.inputs import bias_of
from marginloom.tasks.multilabel.explanations import explain
from marginloom.tasks.multilabel.features import LabelledRows
from marginloom.tasks.multilabel.model import DEFAULT_COSTS, MultilabelModel, MultilabelProblem


@training_command
def train(
    *,
    options: TrainingOptions,
    interactions: Annotated[
        str,
        typer.Option(
            "--interactions",
            metavar="GRAPH",
            help="Pairs of labels that get a weight for occurring together: none, tree (a tree of pairs, learned from "
            "co-occurrence) or full (all pairs).",
            rich_help_panel=STRUCTURE,
        ),
    ] = "none",
    pair: Annotated[
        list[str] | None,
        typer.Option(
            "--pair",
            metavar="'A B'",
            help="Pair of labels that gets a weight for occurring together. May be repeated. Cannot be combined with "
            "--interactions.",
            rich_help_panel=STRUCTURE,
        ),
    ] = None,
    label_cost: Annotated[
        list[str] | None,
        typer.Option(
            "--label-cost",
            metavar="LABEL=X",
            help="Cost of predicting LABEL where it is not gold. Missing a gold LABEL costs this times --missing-cost. "
            "May be repeated. [default: 1 for every label]",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    missing_cost: Annotated[
        float,
        typer.Option(
            "--missing-cost",
            metavar="X",
            help="Cost of missing a gold label, relative to the cost of predicting an extra one. Larger values make "
            "the model predict more labels.",
            rich_help_panel=TRAINING,
        ),
    ] = DEFAULT_COSTS[0],
    labels_per_slack: Annotated[
        int | None,
        typer.Option(
            "--labels-per-slack",
            metavar="N",
            min=1,
            help="For experts: train labels in groups of N that share a slack variable; 1 makes each label a binary "
            "SVM. [default: 1; with --interactions or --pair, one group of all labels]",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    normalize: Annotated[
        bool,
        typer.Option(
            "--normalize/--no-normalize",
            help="Scale every row to length 1, in training and prediction. C is then 1 by default.",
            rich_help_panel=TRAINING,
        ),
    ] = True,
    min_count: MinCountOption = 1,
    fit_intercept: FitInterceptOption = True,
    intercept_scaling: InterceptScalingOption = 1.0,
) -> None:
    """Train a multilabel classifier on LIBSVM files.

    An example may have several labels, or none. Without --interactions or --pair, one binary SVM per label is trained.
    """
    with usage_errors():
        bias = bias_of(fit_intercept, intercept_scaling)
        checked("min_count", min_count, "positive count")
        checked("missing_cost", missing_cost, "not negative")
        costs = numbers_of_labels("--label-cost", label_cost or [], "a finite cost")
    if interactions not in ("none", "tree", "full"):
        raise usage_error(f"--interactions must be none, tree or full, not {interactions!r}")
    if pair and (interactions != "none" or any(len(names.split()) != 2 for names in pair)):
        raise usage_error("--pair takes two labels, as in --pair 'cat dog', and no --interactions beside it")

    def read() -> TrainingData:
        rows = TrainingRows.read(options.training, min_count)
        labels = NumberedSets.join([file.label_sets(rows.strings or None) for file in rows.files])
        pairs = [tuple(rows.label(name) for name in names.split()) for names in pair or []]
        problem = MultilabelProblem(
            training=LabelledRows(rows.X, labels),
            bias=bias,
            label_costs=_label_costs(labels, {rows.label(name): cost for name, cost in costs.items()}, missing_cost),
            interactions=pairs or (None if interactions == "none" else interactions),
            labels_per_slack=labels_per_slack,
            normalize=normalize,
        )
        sets = {
            name: _read_examples(path, rows.X.shape[1], rows.strings, options.quiet)
            for name, path in options.evaluation_files.items()
        }
        return TrainingData(problem, sets)

    run_training(options, MultilabelModel, read)


class MultilabelCommands(TaskCommands[MultilabelModel, KBestOptions, EvaluateOptions]):
    """Predict, evaluate and inspect for multilabel classifiers."""

    train = staticmethod(train)
    plural = "multilabel classifiers"
    train_examples = (
        "marginloom train multilabel train.svm --dev dev.svm --model labels.safetensors",
        "marginloom train multilabel train.svm --interactions tree --model tree.safetensors",
    )
    model_type = MultilabelModel
    predict_options = KBestOptions
    evaluate_options = EvaluateOptions
    predict_help = (
        "Multilabel classifiers: the output for LIBSVM files has one line per example with its labels, separated by "
        "commas; the line is empty if there are none. With --k-best K, a line has K sets of labels, each followed by "
        "its score (and its probability if the model is calibrated), separated by tabs. --confidence adds a comment "
        "with the probability of each label."
    )

    def predict(self, model: MultilabelModel, options: KBestOptions) -> None:
        """Write the labels of every example, or its k best sets with their scores."""
        if options.k_best > 1 and not model.has_k_best:
            raise usage_error("this model has pairs of labels with cycles, and then no k best sets: leave out --k-best")
        names = [str(name) for name in model.labels.names]

        def lines(X: Any) -> str:
            found = model.predict_k_best(X, options.k_best, options.threads)
            if options.k_best > 1:
                calibrated = options.with_confidence or model.calibration is not None
                shares = model.k_best_probabilities(X, found, options.threads) if calibrated else [None] * len(found)
                return "".join(_k_best_line(names, *best) for best in zip(found, shares, strict=True))
            if options.with_confidence:
                probabilities = model.probabilities(X, options.threads)
                return "".join(
                    _confident_line(names, *best, options) for best in zip(found, probabilities, strict=True)
                )
            return "".join(f"{_shown(names, members)}\n" for ((members, _),) in found)

        if options.with_confidence:
            model.check_confidence()
        predict_rows(options, model.n_features, lines)

    def read_labelled(self, model: MultilabelModel, options: EvaluateOptions) -> LabelledRows:
        """Read examples with their right labels."""
        return _read_examples(options.input, model.n_features, model.labels.strings)

    def explain(self, model: MultilabelModel, options: EvaluateOptions, request: ExplainRequest) -> Explanation:
        """Explain the prediction for a row."""
        labelled = self.read_labelled(model, options)
        training = _training_rows(model, request.training) if request.training else None
        gold = _gold_of(labelled, request.example) if request.gold else None
        wanted = Wanted(request.token, request.instead, gold)
        return explain(model, labelled.X, request.example, wanted, training)

    def describe(self, model: MultilabelModel) -> list[tuple[str, str]]:
        """Return the lines of `inspect` on features, labels and pairs."""
        return [
            describe_features(model.n_features, model.bias),
            ("rows", "scaled to length 1" if model.normalize else "as they are"),
            ("labels", f"{len(model.labels.names)}: {model.labels.summary()}"),
            ("pairs", f"{len(model.pairs)} of labels that interact" if model.pairs else "none: labels do not interact"),
        ]

    def legend(self, model: MultilabelModel) -> str:
        """Explain the numbers of features, and the weights of pairs."""
        return f"{LEGEND} with X: the label X is there too." if model.pairs else LEGEND


def _label_costs(labels: NumberedSets, named: dict[Any, float], missing: float) -> Any:
    if missing == 1:
        return named or None
    if not named:
        return missing, 1.0
    every = set(labels.members.names.tolist()) | set(named)
    return {label: (missing * named.get(label, 1.0), named.get(label, 1.0)) for label in every}


def _shown(names: list[str], members: Any) -> str:
    return ",".join(names[label] for label in members.tolist())


def _k_best_line(names: list[str], found: list[tuple[Any, float]], probabilities: list[float] | None) -> str:
    sets, scores = [_shown(names, members) for members, _ in found], [score for _, score in found]
    return "\t".join(k_best_fields(sets, scores, probabilities)) + "\n"


def _confident_line(
    names: list[str], found: list[tuple[Any, float]], probabilities: Any, options: PredictOptions
) -> str:
    """Return the labels of an example with the probability of each."""
    ((members, _),) = found
    values = probabilities[members].tolist()
    shown = [
        WITHHELD if options.withholds(value) else names[label]
        for label, value in zip(members.tolist(), values, strict=True)
    ]
    return f"{','.join(shown)}{confidence_comment(values)}\n"


def _training_rows(model: MultilabelModel, paths: list[str]) -> LabelledRows:
    """Read the training examples again, as training did."""
    rows = TrainingRows.read(paths, checked("min_count", model.settings.get("min_count", 1), "positive count"))
    if rows.X.shape[1] != model.n_features:
        raise InputError(
            f"the training files have {rows.X.shape[1]} features, and the model {model.n_features}: give those of its "
            "training"
        )
    labels = NumberedSets.join([part.label_sets(rows.strings or None) for part in rows.files])
    return LabelledRows(rows.X, labels)


def _gold_of(labelled: LabelledRows, example: int) -> Any:
    sets = labelled.labels
    assert isinstance(sets, NumberedSets)
    start, end = (int(sets.offsets[min(example + k, len(sets))]) for k in (0, 1))
    return sets.members.values().tolist()[start:end]


COMMANDS = MultilabelCommands()


def _read_examples(path: str, n_features: int, strings: bool, quiet: bool = False) -> LabelledRows:
    """Read examples to score a model on, which has so many features, and names or numbers as labels."""
    rows = read_rows(path)
    return LabelledRows(rows_to_score(rows, n_features, quiet), rows.label_sets(strings))
