"""A dependency parser as a whole: features, labels and weights; what the estimator and the command line share."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.memory import parse_size, require_memory
from marginloom.common.parameters import checked
from marginloom.common.threads import resolve_threads
from marginloom.core.marginals import Outputs
from marginloom.core.prefixes import checked_beam, checked_update
from marginloom.errors import InputError
from marginloom.io.columns import NamedRows
from marginloom.io.conll import ColumnCorpus
from marginloom.io.model import Tensors
from marginloom.labels.label_set import LabelSet
from marginloom.tasks.base.model import Model, Prepared, Problem, strongest_places
from marginloom.tasks.parse.evaluation import ParseEvaluator
from marginloom.tasks.parse.features import ArcFeatureSet, fitting_bits
from marginloom.tasks.parse.gold import FittingTrees, fitting_trees
from marginloom.tasks.parse.jackknife import jackknifed
from marginloom.tasks.parse.sentences import checked_sentences, lengths_of, named_rows, offsets_of
from marginloom.tasks.parse.task import BeamOptions, KBestTrees, ParseTask, TreeOptions, Trees
from marginloom.tasks.parse.transition import task_class
from marginloom.tasks.parse.tree_labels import (
    LABEL_STAGES,
    LABEL_TREES,
    LabelSpace,
    LabelStep,
    TreeLabeller,
    TreeLabelTask,
    bits_of_rows,
    label_spec,
)
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
    labeller : TreeLabeller or None
        Finds the labels when the tree is known; None where they are found with the arcs, or there are none.
    """

    features: ArcFeatureSet
    labels: LabelSet | None
    options: TreeOptions
    labeller: TreeLabeller | None = None

    def predict(self, source: Any, n_threads: int | None = 1) -> tuple[NDArray[np.uint64], Trees]:
        """Return sentence offsets and the best trees."""
        rows, sentences = _rows_of(source)
        threads = resolve_threads(n_threads)
        trees = self.task_of(rows, sentences).predict(self.weights, threads)
        return sentences, self._with_labels(rows, sentences, trees, threads)

    def predict_k_best(self, source: Any, k: int, n_threads: int | None = 1) -> KBestTrees:
        """Return the k best trees of every sentence; `InputError` where they cannot be found."""
        rows, sentences = _rows_of(source)
        task = self.task_of(rows, sentences)
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
        threads = resolve_threads(n_threads)
        found = task.predict_k_best(self.weights, k, threads)
        if self.calibration is not None and task.core.has_marginals:
            choices = [task.numbered(tree) for tree in found.trees]
            outputs = Outputs(np.concatenate(choices) if choices else np.zeros(0, np.uint32), found.bounds)
            found = found._replace(probabilities=np.exp(self.log_probabilities(task, outputs, n_threads)))
        return found if self.labeller is None else self._labelled(rows, sentences, found, threads)

    def predict_with_confidence(self, source: Any, n_threads: int | None = 1) -> tuple[Trees, NDArray[np.float64]]:
        """Return the best trees, and the probability of every arc, with its label if that is found with the arc."""
        rows, sentences = _rows_of(source)
        threads = resolve_threads(n_threads)
        task = self.task_of(rows, sentences)
        trees = task.predict(self.weights, threads)
        return self._with_labels(rows, sentences, trees, threads), self.confidences(
            task, task.numbered(trees), n_threads
        )

    def confidence_of(self, source: Any, trees: Trees, n_threads: int | None = 1) -> NDArray[np.float64]:
        """Return the probability of every arc of given trees."""
        task = self.task_of(*_rows_of(source))
        scored = trees if self.labeller is None else Trees(trees.heads, None)
        return self.confidences(task, task.numbered(scored), n_threads)

    def check_confidence(self) -> None:
        """Raise `InputError` if this parser has no probabilities."""
        self._empty_task().require_marginals()
        _ = self.tempering

    def probabilities(self, source: Any, n_threads: int | None = 1) -> list[NDArray[np.float64]]:
        """Return for every sentence the probabilities of heads: words by heads, and by labels that go with arcs."""
        found = self.tables(self.task_of(*_rows_of(source)), n_threads)
        count = self.options.label_count
        return [table.reshape(table.shape[0], table.shape[0] + 1, count) if count else table for table in found]

    def _with_labels(self, rows: Any, sentences: NDArray[np.uint64], trees: Trees, n_threads: int) -> Trees:
        """Return trees with the labels of their arcs, where these are found when the tree is known."""
        if self.labeller is None:
            return trees
        values = self.labeller.features.values(rows)
        return Trees(trees.heads, self.labeller.predict(values, sentences, trees.heads, n_threads))

    def _labelled(self, rows: Any, sentences: NDArray[np.uint64], found: KBestTrees, n_threads: int) -> KBestTrees:
        """Return the k best trees with the labels of their arcs."""
        assert self.labeller is not None
        values, starts = self.labeller.features.values(rows), sentences.astype(np.int64)
        counts = np.diff(found.bounds.astype(np.int64))
        words = [np.arange(starts[i], starts[i + 1]) for i, count in enumerate(counts.tolist()) for _ in range(count)]
        heads: list[Any] = [tree.heads for tree in found.trees]
        everything = np.concatenate([np.zeros(0, np.int64), *words])
        joined = np.concatenate([np.zeros(0, np.uint16), *heads])
        n_threads = min(n_threads, sentences.size - 1)  # as to label one tree of each
        labels = self.labeller.predict(values[everything], offsets_of(heads), joined, n_threads)
        parts = np.split(labels, np.cumsum([head.size for head in heads])[:-1])
        trees = [Trees(tree.heads, part) for tree, part in zip(found.trees, parts, strict=False)]
        return found._replace(trees=trees)

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
            "label_stage": self.label_stage,
            **({} if self.labeller is None else {"steps": self.steps()}),
            "method": self.options.method,
            **({} if self.options.search is None else dataclasses.asdict(self.options.search)),
            "order": self.options.order,
            "projective": self.options.projective,
            "roots": self.options.roots,
        }

    @property
    def label_stage(self) -> str | None:
        """When labels are found; None where there are none."""
        return None if self.labels is None else LABEL_STAGES[0] if self.labeller is not None else LABEL_STAGES[1]

    def without_label_step(self) -> ParseModel:
        """Return this model without labels if they are found when the tree is known; else itself."""
        return self if self.labeller is None else dataclasses.replace(self, labels=None, labeller=None)

    def steps(self) -> dict[str, dict[str, Any]]:
        """Return how labels were trained that are found when the tree is known."""
        return {} if self.labeller is None else {"labels": self.labeller.report()}

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
        if self.labels is not None and self.labeller is None:
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
        header: dict[str, Any] = {"trees": self.options.stored()}
        tensors = {**self.features.tensors(), **labels}
        if self.labeller is not None:
            header["label_step"] = self.labeller.header()
            tensors |= self.labeller.tensors()
        return header, tensors

    @classmethod
    def from_own_parts(cls, header: dict[str, Any], tensors: Tensors) -> ParseModel:
        """Put together what `own_parts` returned."""
        stored = header["trees"]
        count = checked("label_count", stored["label_count"], "count")
        step = header.get("label_step")
        labels = LabelSet.load(tensors) if count or step is not None else None
        labeller = None if step is None else TreeLabeller.load(step, tensors, header["settings"])
        if stored["order"] not in (1, 2) or not isinstance(stored["projective"], bool) or stored["roots"] not in ROOTS:
            raise ValueError("it is not said which trees there are")
        if labels is not None and len(labels.names) != (count if labeller is None else labeller.space.size):
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
        return cls(features=features, labels=labels, options=options, labeller=labeller)


def _rows_of(source: Any) -> tuple[ColumnCorpus | NamedRows, NDArray[np.uint64]]:
    """Return sentences with what their columns are called, and where they begin and end."""
    if isinstance(source, ColumnCorpus):
        return source, source.sentences
    rows = source if isinstance(source, NamedRows) else named_rows(checked_sentences(source))
    return rows, offsets_of(rows.sentences)


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
    label_features : ArcFeatureSet, optional
        What labels are found by when the tree is known; `features` then has none of labels.
    label_cost : float, optional
        What a slack costs in training such labels.
    label_trees : {"gold", "jackknife"}
        Which trees such labels are learned on: the gold ones, or those that parsers find which were trained without
        them.
    """

    training: Treebank
    features: ArcFeatureSet
    projective: bool = True
    roots: str = "one"
    invalid_gold: str = "repair"
    feature_cache: int | str | None = None
    search: BeamOptions | None = None
    label_features: ArcFeatureSet | None = None
    label_cost: float | None = None
    label_trees: str = LABEL_TREES[0]

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
        if (features.labelled or self.label_features is not None) and bank.labels is None:
            raise InputError("the heads have no labels, and labelled asks for them: give pairs (head, label)")
        for own in filter(None, (features, self.label_features)):
            own.choose(bank.source)
            own.check_templates()
        check_lengths(bank.source, bank.sentences)
        trees = fitting_trees(bank, self.projective, self.roots == "one", self.invalid_gold)
        labels, numbered = _numbered(trees, features.labelled or self.label_features is not None)
        gold = numbered if self.label_features is None else Trees(numbered.heads, None)
        options = dataclasses.replace(
            _options(gold, labels, features.order, self.projective, self.roots), search=self.search
        )
        features.fit(bank.source, trees, options.label_count)
        model = ParseModel(features=features, labels=labels, options=options)
        model.settings = {
            "invalid_gold": self.invalid_gold,
            "min_count": features.min_count,
            "feature_cache": self.feature_cache,
            **({} if self.label_features is None else self._label_settings),
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
        spec = dataclasses.replace(spec, sample_weight=weights)
        if self.label_features is None:
            return Prepared(model, task, spec)
        step = self._label_step(model, trees, numbered, _Encoded(sentences, values, options), spec)
        return Prepared(model, task, spec, [step])

    @property
    def _label_settings(self) -> dict[str, Any]:
        return {"label_cost": self.label_cost, "label_trees": self.label_trees}

    def _label_step(
        self, model: ParseModel, trees: FittingTrees, gold: Trees, encoded: _Encoded, spec: RunSpec
    ) -> LabelStep:
        """Return the training of the labels, which becomes a part of the model."""
        features, bank = self.label_features, self.training
        assert features is not None
        assert model.labels is not None
        assert gold.labels is not None
        labelled = _options(gold, model.labels, 1, self.projective, self.roots)
        space = LabelSpace(labelled.label_count, tuple(labelled.root_labels), tuple(labelled.other_labels))
        words = fitting_bits(gold.heads.size)
        asked = features.hash_bits if features.hash_bits is not None else words
        features.fit_labels(bank.source, space.size, bits_of_rows(asked, space.size))
        model.labeller = labeller = TreeLabeller(features=features, space=space, settings={"trees": self.label_trees})
        sentences, values = kept_values(bank, features.values(bank.source), trees)

        def pose() -> TreeLabelTask:
            heads = gold.heads
            if self.label_trees == LABEL_TREES[1]:
                heads = jackknifed(
                    sentences, encoded.values, model.features.core, encoded.options, Trees(gold.heads, None), spec
                )
            return labeller.task_of(values, sentences, heads, gold.labels)

        return LabelStep(labeller, pose, label_spec(spec, self.label_cost))


class _Encoded(NamedTuple):
    """The sentences that trees are learned from, what templates see in their words, and which trees there are."""

    sentences: NDArray[np.uint64]
    values: NDArray[np.uint64]
    options: TreeOptions


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
