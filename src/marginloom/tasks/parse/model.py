"""A dependency parser as a whole: features, labels and weights; what the estimator and the command line share."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.memory import parse_size, require_memory
from marginloom.common.parameters import checked
from marginloom.common.threads import resolve_threads
from marginloom.core.marginals import NO_CHOICE, Outputs
from marginloom.core.prefixes import checked_beam, checked_update
from marginloom.errors import InputError
from marginloom.io.columns import NamedRows
from marginloom.io.conll import ColumnCorpus
from marginloom.io.model import Tensors
from marginloom.labels.label_set import UNSEEN, LabelSet
from marginloom.labels.numbered import NumberedLabels
from marginloom.tasks.base.calibration import CalibrationExamples
from marginloom.tasks.base.model import Evaluator, Model, Prepared, Problem, strongest_places
from marginloom.tasks.parse.features import ArcFeatureSet
from marginloom.tasks.parse.gold import FittingTrees, check_trees, fitting_trees
from marginloom.tasks.parse.metrics import SHORT, ParseScorer
from marginloom.tasks.parse.sentences import checked_sentences, lengths_of, named_rows, offsets_of
from marginloom.tasks.parse.task import BeamOptions, KBestTrees, ParseTask, TreeOptions, Trees
from marginloom.tasks.parse.transition import task_class
from marginloom.tasks.parse.treebank import Treebank, check_lengths
from marginloom.training.checks import checked_weights
from marginloom.training.spec import RunSpec, training_threads

ROOTS = ("one", "many")
#: By the columns of weights.
ACTIONS = ("shift", "left", "right")


@dataclasses.dataclass(kw_only=True)
class ParseModel(Model):
    """A trained parser.

    Attributes
    ----------
    features : ArcFeatureSet
        What arcs are scored by.
    labels : LabelSet or None
        What arcs can be called; None where they have no labels.
    options : TreeOptions
        Which trees there are.
    """

    features: ArcFeatureSet
    labels: LabelSet | None
    options: TreeOptions

    def predict(self, source: Any, n_threads: int | None = 1) -> tuple[NDArray[np.uint64], Trees]:
        """Return sentence offsets and the best trees."""
        sentences, task = self._encoded(source)
        return sentences, task.predict(self.weights, resolve_threads(n_threads))

    def predict_k_best(self, source: Any, k: int, n_threads: int | None = 1) -> KBestTrees:
        """Return the k best trees of every sentence; `InputError` where they cannot be found."""
        _, task = self._encoded(source)
        if k > 1 and self.options.search is not None:
            raise InputError(
                "beam search finds one tree, and a parser with method=transition has no other: ask for one tree, or "
                "train with method=graph (--method graph)"
            )
        if k > 1 and "k-best" not in task.core.capabilities:
            raise InputError(
                "trees of second order that need not be projective are not searched exactly, so there is no list of "
                "the best ones: ask for one tree, or train with order 1 or with projective trees"
            )
        found = task.predict_k_best(self.weights, k, resolve_threads(n_threads))
        if self.calibration is None or not task.core.has_marginals:
            return found
        choices = [task.numbered(tree) for tree in found.trees]
        outputs = Outputs(np.concatenate(choices) if choices else np.zeros(0, np.uint32), found.bounds)
        return found._replace(probabilities=np.exp(self.log_probabilities(task, outputs, n_threads)))

    def predict_with_confidence(self, source: Any, n_threads: int | None = 1) -> tuple[Trees, NDArray[np.float64]]:
        """Return the best trees, and the probability of every arc, with its label if arcs have labels."""
        _, task = self._encoded(source)
        trees = task.predict(self.weights, resolve_threads(n_threads))
        return trees, self.confidences(task, task.numbered(trees), n_threads)

    def confidence_of(self, source: Any, trees: Trees, n_threads: int | None = 1) -> NDArray[np.float64]:
        """Return the probability of every arc of given trees."""
        _, task = self._encoded(source)
        return self.confidences(task, task.numbered(trees), n_threads)

    def check_confidence(self) -> None:
        """Raise `InputError` if this parser has no probabilities."""
        self._empty_task().require_marginals()
        _ = self.tempering

    def probabilities(self, source: Any, n_threads: int | None = 1) -> list[NDArray[np.float64]]:
        """Return for every sentence the probabilities of heads: words by heads, and by labels if arcs have some."""
        _, task = self._encoded(source)
        found = self.tables(task, n_threads)
        if self.labels is None:
            return found
        return [table.reshape(table.shape[0], table.shape[0] + 1, len(self.labels.names)) for table in found]

    def _encoded(self, source: Any) -> tuple[NDArray[np.uint64], ParseTask]:
        if isinstance(source, ColumnCorpus):
            return source.sentences, self.task_of(source, source.sentences)
        rows = source if isinstance(source, NamedRows) else named_rows(checked_sentences(source))
        offsets = offsets_of(rows.sentences)
        return offsets, self.task_of(rows, offsets)

    def task_of(self, source: Any, sentences: NDArray[np.uint64]) -> ParseTask:
        """Return the task of parsing sentences, files or lists that were checked."""
        check_lengths(source, sentences)
        values = self.features.values(source)
        self.features.warn_of_missing(source)
        task = task_class(self.options)(sentences, values, self.features.core, self.options)
        require_memory("parsing", {task.name_of_buffer: task.buffer_bytes}, task.way_to_parse)
        return task

    def with_beam(self, beam: int | None) -> ParseModel:
        """Return this model with another size of the beam; itself for None."""
        if beam is None:
            return self
        if self.options.search is None:
            raise InputError(
                f"this parser was trained with method=graph, which has no beam; leave out beam (--beam) {beam}"
            )
        search = dataclasses.replace(self.options.search, beam=checked_beam(beam))
        return dataclasses.replace(self, options=dataclasses.replace(self.options, search=search))

    def evaluator(self, labelled: Treebank, n_threads: int | None = 1) -> ParseEvaluator:
        """Return what scores weights of this parser on sentences with their right trees."""
        return ParseEvaluator(self, labelled, n_threads)

    def summary(self) -> dict[str, Any]:
        """Return the name and number of the features, the columns they read, the labels, and which trees there are."""
        return {
            "features": self.features.name,
            "feature_count": self.features.counts,
            "columns": self.features.columns.read,
            "labels": None if self.labels is None else self.labels.names,
            "method": self.options.method,
            **({} if self.options.search is None else dataclasses.asdict(self.options.search)),
            "order": self.options.order,
            "projective": self.options.projective,
            "roots": self.options.roots,
        }

    def strongest(self, count: int) -> list[dict[str, Any]]:
        """Return the weights that are largest in size: of arcs and siblings, or of every action; and of every label."""
        layout = self._empty_task().core
        first_rows = layout.first_label_row
        counts = list(self.features.counts.values())  # what lies between is padding, which a damaged file may fill
        if self.options.search is None:
            parts = [(0, counts[0], 1), (layout.first_sibling, layout.first_sibling + counts[1], 1)]
        else:
            end = counts[0] * layout.action_stride
            parts = [(action, end, layout.action_stride) for action in range(len(ACTIONS))]
        if self.labels is not None:
            end = first_rows + counts[-1] * layout.stride
            parts += [(first_rows + column, end, layout.stride) for column in range(len(self.labels.names))]
        return [
            self._described(layout, start + step * place)
            for start, end, step in parts
            for place in strongest_places(self.weights[start:end:step], count)
        ]

    def _described(self, layout: Any, place: int) -> dict[str, Any]:
        if place >= layout.first_label_row:
            assert self.labels is not None
            feature, column = divmod(place - layout.first_label_row, layout.stride)
            kind, label = len(self.features.kinds) - 1, self.labels.names[column]
        elif self.options.search is not None:
            feature, column = divmod(place, layout.action_stride)
            kind, label = 0, ACTIONS[column]
        elif place < layout.first_sibling:
            kind, feature, label = 0, place, "arc"
        else:
            kind, feature, label = 1, place - layout.first_sibling, "siblings"
        return {"weight": float(self.weights[place]), "feature": self.features.describe(kind, feature), "label": label}

    @property
    def dimension(self) -> int:
        """Number of weights that features and labels ask for."""
        native: Any = _core.ParseTask if self.options.search is None else _core.TransitionTask
        return int(native.weight_count(self.features.core, self.options.label_count))

    @property
    def layout(self) -> Any:
        """Where the weights of arcs, siblings and labels begin."""
        return self._empty_task().core

    def _empty_task(self) -> ParseTask:
        return self.task_of([], np.zeros(1, np.uint64))

    def own_parts(self) -> tuple[dict[str, Any], Tensors]:
        """Return features, labels and options as a file has them."""
        labels = {} if self.labels is None else self.labels.tensors()
        return {"trees": self.options.stored()}, {**self.features.tensors(), **labels}

    @classmethod
    def from_own_parts(cls, header: dict[str, Any], tensors: Tensors) -> ParseModel:
        """Put together what `own_parts` returned."""
        stored = header["trees"]
        count = checked("label_count", stored["label_count"], "count")
        labels = LabelSet.load(tensors) if count else None
        if stored["order"] not in (1, 2) or not isinstance(stored["projective"], bool) or stored["roots"] not in ROOTS:
            raise ValueError("it is not said which trees there are")
        if labels is not None and len(labels.names) != count:
            raise ValueError(f"there are {len(labels.names)} labels, and {count} were expected")
        features = ArcFeatureSet.load(tensors, header["settings"])
        if features.order != stored["order"] or features.labelled != (count > 0) or features.label_count != count:
            raise ValueError("the features are those of other trees")
        at_root, elsewhere = (
            tuple(_label_number(number, count) for number in stored[name]) for name in ("root_labels", "other_labels")
        )
        search = _stored_search(stored.get("search"))
        if search is not None and (stored["order"] != 1 or not stored["projective"] or stored["roots"] != "one"):
            raise ValueError("beam search does not find such trees")
        if features.method != ("graph" if search is None else "transition"):
            raise ValueError("the features are those of another method")
        options = TreeOptions(stored["order"], stored["projective"], stored["roots"], count, at_root, elsewhere, search)
        return cls(features=features, labels=labels, options=options)


def _stored_search(stored: Any) -> BeamOptions | None:
    if stored is None:
        return None
    merging = checked("merging", stored["merging"], "switch")
    return BeamOptions(checked_beam(stored["beam"]), merging, checked_update(stored["update"]))


def _label_number(stored: Any, count: int) -> int:
    if type(stored) is not int or not 0 <= stored < count:
        raise ValueError(f"{stored!r} is not the number of a label")
    return stored


@dataclasses.dataclass(frozen=True, kw_only=True)
class ParseProblem(Problem[ParseModel]):
    """Sentences with their trees, and what to make of them.

    Attributes
    ----------
    training : Treebank
        Sentences to learn from.
    features : ArcFeatureSet
        A new one, of the same order, with labels if arcs have some; it learns its vocabulary here.
    projective : bool
        Whether trees are projective.
    roots : {"one", "many"}
        How many words may have no head.
    invalid_gold : {"repair", "skip", "error"}
        What to do with trees that are not projective where they must be, see `fitting_trees`.
    feature_cache : int or str, optional
        Memory for features of all arcs that are kept instead of made again for every search.
    search : BeamOptions, optional
        How trees are built from left to right; the features are then those of states.
    """

    training: Treebank
    features: ArcFeatureSet
    projective: bool = True
    roots: str = "one"
    invalid_gold: str = "repair"
    feature_cache: int | str | None = None
    search: BeamOptions | None = None

    def to_hold_out(self) -> tuple[Any, int]:
        """Return the training sentences and how many there are."""
        return self.training, self.training.sentences.size - 1

    def prepare(self, spec: RunSpec) -> Prepared[ParseModel]:
        """Check the trees, number labels and learn features."""
        if self.roots not in ROOTS:
            raise InputError(f"roots must be one of {', '.join(ROOTS)}, not {self.roots!r}")
        cache = parse_size("feature_cache", self.feature_cache) if self.feature_cache is not None else 0
        bank, features = self.training, self.features
        if bank.heads.size == 0:
            raise InputError("there is no word to learn from: give sentences with trees")
        if features.labelled and bank.labels is None:
            raise InputError("the heads have no labels, and labelled asks for them: give pairs (head, label)")
        features.check_templates()
        check_lengths(bank.source, bank.sentences)
        trees = fitting_trees(bank, self.projective, self.roots == "one", self.invalid_gold)
        labels, gold = _numbered(trees, features.labelled)
        options = dataclasses.replace(
            _options(gold, labels, features.order, self.projective, self.roots), search=self.search
        )
        features.fit(bank.source, trees, options.label_count)
        model = ParseModel(features=features, labels=labels, options=options)
        model.settings = {
            "invalid_gold": self.invalid_gold,
            "min_count": features.min_count,
            "feature_cache": self.feature_cache,
        }
        sentences, values = kept_values(bank, features.values(bank.source), trees)
        task = task_class(options)(
            sentences,
            values,
            features.core,
            options,
            gold,
            cache=cache,
            n_threads=resolve_threads(training_threads(spec.algorithm, spec.n_threads)),
        )
        weights = spec.sample_weight
        if weights is not None and trees.kept is not None:
            weights = checked_weights(weights, trees.kept.size)[trees.kept]
        return Prepared(model, task, dataclasses.replace(spec, sample_weight=weights))


def _numbered(trees: FittingTrees, labelled: bool) -> tuple[LabelSet | None, Trees]:
    heads = trees.heads.astype(np.uint16)
    if not labelled or trees.labels is None:
        return None, Trees(heads, None)
    labels, numbers = LabelSet.learn(trees.labels)
    return labels, Trees(heads, numbers)


def _options(gold: Trees, labels: LabelSet | None, order: int, projective: bool, roots: str) -> TreeOptions:
    """Let words without a head have the labels that such words have in training, and the others those of the others."""
    if labels is None or gold.labels is None:
        return TreeOptions(order, projective, roots)
    at_root = np.unique(gold.labels[gold.heads == 0]).tolist()
    elsewhere = np.unique(gold.labels[gold.heads != 0]).tolist()
    return TreeOptions(order, projective, roots, len(labels.names), tuple(at_root), tuple(elsewhere or at_root))


def kept_values(
    bank: Treebank, values: NDArray[np.uint64], trees: FittingTrees
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the offsets and values of the sentences that are learnt from."""
    if trees.kept is None:
        return bank.sentences, values
    lengths = lengths_of(bank.sentences)
    offsets = np.concatenate([[0], np.cumsum(lengths[trees.kept])]).astype(np.uint64)
    return offsets, values[np.repeat(trees.kept, lengths)]


class ParseEvaluator(Evaluator):
    """Scores weights of a parser on sentences with their right trees, which are encoded once."""

    def __init__(self, model: ParseModel, bank: Treebank, n_threads: int | None = 1) -> None:
        self.n_threads = resolve_threads(n_threads)
        self._labels = model.labels
        check_trees(bank)
        gold = bank.labels if model.labels is not None else None
        if model.labels is not None and gold is None:
            raise InputError("the parser has labels, and the trees to score have none: give pairs (head, label)")
        self._scorer = ParseScorer(bank.forms(), bank.sentences, bank.heads, gold)
        self._task = model.task_of(bank.source, bank.sentences)
        self._bank = bank
        #: Labels that training did not see, with how often they occur.
        self.unseen: dict[str, int] = {} if gold is None or model.labels is None else model.labels.count_unseen(gold)

    def calibration_examples(self) -> CalibrationExamples:
        """Return the sentences with the heads of their words, and the labels if there are any."""
        heads = self._bank.heads.astype(np.uint16)
        if self._labels is None or self._bank.labels is None:
            return CalibrationExamples(self._task, self._task.numbered(Trees(heads, None)))
        gold = self._labels.encode(self._bank.labels)
        choices = self._task.numbered(Trees(heads, np.where(gold == UNSEEN, 0, gold).astype(np.uint16)))
        return CalibrationExamples(self._task, np.where(gold == UNSEEN, NO_CHOICE, choices))

    @property
    def counts(self) -> dict[str, int]:
        """Number of sentences and of words."""
        return {"sentences": self._bank.sentences.size - 1, "tokens": int(self._bank.sentences[-1])}

    @property
    def fingerprint(self) -> str:
        """Identify the sentences and their trees, for checkpoints."""
        digest = hashlib.sha256(repr(self._task.fingerprints).encode())
        digest.update(self._bank.heads.tobytes())
        if self._bank.labels is not None:
            digest.update(repr(self._bank.labels.values().tolist()).encode())
        return digest.hexdigest()

    def __call__(self, weights: NDArray[np.float64]) -> dict[str, Any]:
        """Return the shares of words with the right head, and with the right head and label."""
        scores = self._scorer.scores(*self._predicted(weights))
        return {name: scores[name] for name in SHORT if name in scores}

    def report(self, weights: NDArray[np.float64]) -> dict[str, Any]:
        """Return all scores and the confusions of labels, and warn where scores mean nothing."""
        self._scorer.warn_if_empty()
        return self._scorer.report(*self._predicted(weights))

    def _predicted(self, weights: NDArray[np.float64]) -> tuple[NDArray[Any], NumberedLabels | None]:
        """Return the heads and, if there are any, the labels."""
        found = self._task.predict(weights, self.n_threads)
        if self._labels is None or found.labels is None:
            return found.heads, None
        names = np.array(self._labels.names, dtype=object)
        return found.heads, NumberedLabels(names, found.labels.astype(np.uint32))


def trees_as_lists(
    sentences: NDArray[np.uint64], trees: Trees, labels: LabelSet | None
) -> list[list[int]] | list[list[tuple[int, Any]]]:
    """Return trees as users have them: heads, or pairs (head, label).

    Examples
    --------
    >>> trees_as_lists(np.array([0, 2], np.uint64), Trees(np.array([2, 0], np.uint16), None), None)
    [[2, 0]]
    """
    heads = trees.heads.tolist()
    words: list[Any] = heads
    if labels is not None and trees.labels is not None:
        words = list(zip(heads, labels.decode(trees.labels).tolist(), strict=True))
    return [words[start:end] for start, end in itertools.pairwise(sentences.tolist())]
