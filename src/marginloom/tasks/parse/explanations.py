"""Why a parser gives this tree: differences of feature vectors of two trees, with names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.errors import InputError
from marginloom.tasks.base.example_shares import TrainingExamples, explanation_of, explicit_terms
from marginloom.tasks.base.explanation import Compared, Explanation, FeatureWeights, Part, Wanted
from marginloom.tasks.parse.gold import fitting_trees
from marginloom.tasks.parse.model import ParseModel, kept_values, trees_as_lists
from marginloom.tasks.parse.sentences import offsets_of
from marginloom.tasks.parse.task import Trees
from marginloom.tasks.parse.transition import task_class
from marginloom.tasks.parse.treebank import Treebank
from marginloom.tasks.parse.trees import find_fault, is_projective


class ExplainedTree:
    """One of some sentences, with the features of its arcs.

    Parameters
    ----------
    model : ParseModel
        The parser.
    source : object
        Sentences as the parser takes them.
    sentence : int
        Which of them, from 0.
    words : sequence of str, optional
        Its words, where they are known.
    """

    def __init__(self, model: ParseModel, source: Any, sentence: int, words: Sequence[str] | None = None) -> None:
        if model.options.search is not None:
            raise InputError(
                "a parser with method=transition scores actions and not arcs, so it has no explanations: train with "
                "method=graph (--method graph)"
            )
        model = model.without_label_step()
        self.model, self.words = model, words
        self._table, self._extractor, self._place_in_table, count = model.features.table_of(source, sentence)
        offsets = self._table.sentences().astype(np.int64)
        self.length = int(offsets[self._place_in_table + 1] - offsets[self._place_in_table])
        self._source, self._sentence, self._count = source, sentence, count
        self._layout = model.layout

    def _own(self, whole: Trees, offsets: NDArray[np.uint64]) -> Trees:
        start, end = (int(offsets[self._sentence + k]) for k in (0, 1))
        return Trees(whole.heads[start:end], None if whole.labels is None else whole.labels[start:end])

    def predicted(self) -> Trees:
        """Return the best tree."""
        offsets, trees = self.model.predict(self._source)
        return self._own(trees, offsets)

    def compared(self, wanted: Wanted) -> Compared:
        """Return the prediction next to what is to be compared with it."""
        best = self.predicted()
        other = self._other(best, wanted)
        shown = [self._shown(tree) for tree in (best, other)]
        if wanted.token is not None and wanted.gold is None:
            shown = [tree[wanted.token] for tree in shown]
        return Compared(shown[0], shown[1], self.parts(best, other))

    def _shown(self, tree: Trees) -> Any:
        return trees_as_lists(offsets_of([tree.heads.tolist()]), tree, self.model.labels)[0]

    def _other(self, best: Trees, wanted: Wanted) -> Trees:
        if wanted.gold is not None:
            return self._known_gold(wanted.gold)
        if wanted.token is None and wanted.instead is None:
            found = self.model.predict_k_best(self._source, 2)
            first, last = (int(found.bounds[self._sentence + k]) for k in (0, 1))
            if last - first < 2:
                raise InputError("the sentence has one tree only, so there is nothing to compare it with")
            return found.trees[first + 1]
        token = wanted.check_token(self.length)
        if wanted.instead is not None:
            return self._changed(best, token, *self._arc(best, token, wanted.instead))
        others = [tree for head in range(self.length + 1) for tree in self._with_head(best, token, head)]
        if not others:
            raise InputError("no other head of this token makes a tree, so there is nothing to compare with")
        weights = self.model.weights
        behind = [sum(part.value * weights[part.number] for part in self.parts(best, other)) for other in others]
        return others[int(np.argmin(behind))]

    def _with_head(self, best: Trees, token: int, head: int) -> list[Trees]:
        """Return the trees in which a word has this head, with every label that it may have; none if it makes none."""
        if head == token + 1 or not self._is_tree(best, token, head):
            return []
        labels: Sequence[int | None] = [None]
        if best.labels is not None:
            labels = self.model.options.root_labels if head == 0 else self.model.options.other_labels
        same = best.heads[token] == head
        return [
            self._changed(best, token, head, label)
            for label in labels
            if not (same and (label is None or best.labels is None or label == best.labels[token]))
        ]

    def _is_tree(self, best: Trees, token: int, head: int) -> bool:
        heads = best.heads.astype(np.int64).copy()
        heads[token] = head
        fits = find_fault(heads, self.model.options.roots == "one") is None
        return fits and (not self.model.options.projective or is_projective(heads))

    def _arc(self, best: Trees, token: int, instead: Any) -> tuple[int, int | None]:
        """Return the head and the label that are meant by a head, a label, or both."""
        pair = tuple(instead.split(":", 1)) if isinstance(instead, str) and ":" in instead else instead
        if isinstance(pair, tuple) and len(pair) == 2 and str(pair[0]).isdigit():
            head, name = int(pair[0]), pair[1]
        elif isinstance(instead, bool) or not str(instead).isdigit():
            head, name = int(best.heads[token]), instead
        else:
            head, name = int(instead), None
        label = None if best.labels is None else int(best.labels[token])
        if name is not None:
            if self.model.labels is None:
                raise InputError(f"{name!r} is a label, and the arcs of this parser have none: name a head")
            label = self.model.labels.find(name)
        if head > self.length or head == token + 1 or not self._is_tree(best, token, head):
            raise InputError(
                f"the head {head} of word {token + 1} makes no tree that the parser can give; name another"
            )
        return head, label

    @staticmethod
    def _changed(tree: Trees, token: int, head: int, label: int | None) -> Trees:
        heads = tree.heads.copy()
        heads[token] = head
        if tree.labels is None:
            return Trees(heads, None)
        labels = tree.labels.copy()
        labels[token] = labels[token] if label is None else label
        return Trees(heads, labels)

    def _known_gold(self, gold: Sequence[Any]) -> Trees:
        if len(gold) != self.length:
            raise InputError(f"y has {len(gold)} words, and the sentence has {self.length}")
        pairs = [word if isinstance(word, (tuple, list)) else (word, None) for word in gold]
        heads = np.array([head for head, _ in pairs], dtype=np.int64)
        fault = find_fault(heads, self.model.options.roots == "one")
        if fault is not None:
            raise InputError(f"the gold tree is none: {fault.text}")
        if self.model.labels is None:
            return Trees(heads.astype(np.uint16), None)
        labels = [self.model.labels.find(name) for _, name in pairs]
        return Trees(heads.astype(np.uint16), np.array(labels, dtype=np.uint16))

    def parts(self, a: Trees, b: Trees) -> list[Part]:
        """Return the terms of the difference of the feature vectors of two trees."""
        arcs = [self._arcs(tree) for tree in (a, b)]
        return [
            part
            for m in range(self.length)
            if arcs[0][m] != arcs[1][m]
            for own, sign in ((arcs[0][m], 1.0), (arcs[1][m], -1.0))
            for part in self._arc_parts(m + 1, own, sign)
        ]

    def _arcs(self, tree: Trees) -> list[tuple[int, int, int | None]]:
        """Return for every word its head, its nearest sibling on the way there, and its label."""
        heads = [0, *tree.heads.tolist()]
        labels = [None] * self.length if tree.labels is None else tree.labels.tolist()
        return [
            (heads[m], _nearest_sibling(heads, m) if self.model.options.order == 2 else 0, labels[m - 1])
            for m in range(1, self.length + 1)
        ]

    def _arc_parts(self, m: int, arc: tuple[int, int, int | None], sign: float) -> list[Part]:
        head, sibling, label = arc
        place = f"{self._word(head)} -> {self._word(m)}"
        found = []
        for kind, number, name in self._named(head, m, sibling):
            if kind == 2 and label is None:
                continue
            found.append(Part(self._index(kind, number, label), sign, name, self._label_of(kind, label), place))
        return found

    def _index(self, kind: int, number: int, label: int | None) -> int:
        layout = self._layout
        if kind == 2:
            return int(layout.first_label_row) + number * int(layout.stride) + (label or 0)
        return number + (int(layout.first_sibling) if kind == 1 else 0)

    def _label_of(self, kind: int, label: int | None) -> str:
        if kind == 2 and self.model.labels is not None and label is not None:
            return str(self.model.labels.names[label])
        return ("arc", "siblings", "")[kind]

    def _named(self, head: int, m: int, sibling: int) -> list[tuple[int, int, str]]:
        features: _core.ArcFeatures = self.model.features.core
        return features.named(self._extractor, self._table, self._place_in_table, head, m, sibling)

    def _word(self, number: int) -> str:
        if number == 0:
            return "root"
        return str(number) if self.words is None else f"{number} {self.words[number - 1]}"

    def features(self, head: int, token: int) -> list[FeatureWeights]:
        """Return the features of the arc from a head (from 1, 0 for the root) to a token (from 0), with weights."""
        if not 0 <= token < self.length or not 0 <= head <= self.length or head == token + 1:
            raise InputError(f"there is no arc from {head} to word {token + 1} in a sentence of {self.length} words")
        weights, found = self.model.weights, []
        names = [] if self.model.labels is None else self.model.labels.names
        for kind, number, name in self._named(head, token + 1, 0):
            if kind == 2:
                own = {str(label): float(weights[self._index(2, number, k)]) for k, label in enumerate(names)}
            else:
                own = {self._label_of(kind, None): float(weights[self._index(kind, number, None)])}
            found.append(FeatureWeights(name, 1.0, {label: weight for label, weight in own.items() if weight}))
        return found


def _nearest_sibling(heads: Sequence[int], modifier: int) -> int:
    head = heads[modifier]
    step = -1 if head < modifier else 1
    for place in range(modifier + step, head, step):
        if heads[place] == head:
            return place
    return 0


def training_examples(model: ParseModel, bank: Treebank, words: Sequence[str] | None) -> TrainingExamples:
    """Return the sentences that the parser was trained on, encoded with its features."""
    options = model.options
    invalid = model.settings.get("invalid_gold", "repair")
    trees = fitting_trees(bank, options.projective, options.roots == "one", invalid)
    labels = None
    if model.labels is not None and trees.labels is not None:
        labels = model.labels.encode(trees.labels)
    sentences, values = kept_values(bank, model.features.values(bank.source), trees)
    gold = Trees(trees.heads.astype(np.uint16), labels)
    try:
        task = task_class(options)(sentences, values, model.features.core, options, gold)
    except InputError as error:
        raise InputError(f"the training examples are not those that the state belongs to: {error}") from error
    bounds = bank.sentences.astype(np.int64).tolist()
    texts = [
        f"sentence {i + 1}" if words is None else " ".join(words[bounds[i] : bounds[i + 1]])
        for i in range(len(bounds) - 1)
        if trees.kept is None or trees.kept[i]
    ]
    return TrainingExamples(task, texts)


def explain(
    model: ParseModel,
    sentence: ExplainedTree,
    wanted: Wanted,
    training: tuple[Treebank, Sequence[str] | None] | None = None,
) -> Explanation:
    """Return why the parser gives a sentence this tree, with shares of training examples if these are given.

    Labels that are found when the tree is known are not explained.
    """
    model = model.without_label_step()
    if training is None:
        return explanation_of(model, sentence.compared(wanted))
    return explanation_of(
        model,
        sentence.compared(wanted),
        lambda state, delta: explicit_terms(state, training_examples(model, *training), delta),
    )
