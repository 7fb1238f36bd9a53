"""Why a tagger gives these labels: differences of feature vectors of two labellings, with names."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError
from marginloom.features import Encoded, ExtractedFeatures
from marginloom.labels.numbered import NumberedLabels
from marginloom.tasks.base.example_shares import TrainingExamples, explanation_of, explicit_terms
from marginloom.tasks.base.explanation import Compared, Explanation, FeatureWeights, Part, Wanted
from marginloom.tasks.base.row_parts import RowFeature, row_weights
from marginloom.tasks.sequence.features import LabelledSentences
from marginloom.tasks.sequence.gold import fitting_gold
from marginloom.tasks.sequence.model import SequenceModel
from marginloom.tasks.sequence.task import SequenceTask

Labels = NDArray[np.uint16]


class ExplainedSentence:
    """One of some sentences, encoded, with the names of its features.

    Parameters
    ----------
    model : SequenceModel
        The tagger.
    source : object
        Sentences as the features of the tagger take them.
    sentence : int
        Which of them, from 0.
    words : sequence of str, optional
        Its words, where they are known.
    """

    def __init__(self, model: SequenceModel, source: Any, sentence: int, words: Sequence[str] | None = None) -> None:
        whole = model.features.transform(source)
        count = whole.sentences.size - 1
        if not 0 <= sentence < count:
            raise InputError(f"there is no sentence {sentence + 1}: the input has {count} (counted from 1)")
        bounds = whole.sentences.astype(np.int64)
        kept = np.arange(count) == sentence
        self.model, self.words = model, words
        self.encoded = whole.of_sentences(kept)
        self.length = int(bounds[sentence + 1] - bounds[sentence])
        self._layout = model.task_of(self.encoded).core
        self._names = self._feature_names(source, whole, bounds[sentence], bounds[sentence + 1])

    def _feature_names(self, source: Any, whole: Encoded, start: int, end: int) -> list[list[RowFeature]]:
        """Return for every token the index, the value and the name of its features."""
        features = self.model.features
        if whole.tokens is None or whole.features is None:
            assert whole.values is not None
            rows = whole.values.reshape(-1, whole.feature_count)[start:end]
            return [[(f, float(row[f]), features.describe(f)) for f in np.flatnonzero(row).tolist()] for row in rows]
        names = features.hashed_names(source) if isinstance(features, ExtractedFeatures) else None
        found = []
        for t in range(start, end):
            places = range(int(whole.tokens[t]), int(whole.tokens[t + 1]))
            found.append(
                [
                    (
                        int(whole.features[k]),
                        1.0 if whole.values is None else float(whole.values[k]),
                        features.describe(int(whole.features[k])) if names is None else names[k],
                    )
                    for k in places
                ]
            )
        return found

    def predicted(self) -> Labels:
        """Return the best labels."""
        return self.model.task_of(self.encoded).predict(self.model.weights)

    def compared(self, wanted: Wanted) -> Compared:
        """Return the prediction next to what is to be compared with it."""
        best = self.predicted()
        other = self._other(best, wanted)
        names = self.model.labels.names
        shown = [names[label] for label in best.tolist()], [names[label] for label in other.tolist()]
        if wanted.token is not None and wanted.gold is None:
            shown = shown[0][wanted.token], shown[1][wanted.token]
        return Compared(*shown, self.parts(best, other))

    def _other(self, best: Labels, wanted: Wanted) -> Labels:
        if wanted.gold is not None:
            gold = self._known_gold(wanted.gold)
            if wanted.token is None:
                return gold
            token, other = wanted.check_token(self.length), best.copy()
            other[token] = gold[token]
            return other
        if wanted.token is None and wanted.instead is None:
            return self._second_best()
        token, labels = wanted.check_token(self.length), self.model.labels
        others = [number for number in range(len(labels.names)) if number != best[token]]
        if wanted.instead is not None:
            others = [self._label(wanted.instead)]
        found = []
        for number in others:
            other = best.copy()
            other[token] = number
            found.append(other)
        weights = self.model.weights
        behind = [sum(part.value * weights[part.number] for part in self.parts(best, other)) for other in found]
        return found[int(np.argmin(behind))]

    def _label(self, name: Any) -> int:
        names = self.model.labels.names
        if name not in names:
            name = next((own for own in names if str(own) == str(name)), name)
        return self.model.labels.find(name)

    def _known_gold(self, gold: Sequence[Any]) -> Labels:
        if len(gold) != self.length:
            raise InputError(f"y has {len(gold)} labels, and the sentence has {self.length} tokens")
        return np.array([self._label(label) for label in gold], dtype=np.uint16)

    def _second_best(self) -> Labels:
        self.model.check_k_best()
        labels, _, bounds = self.model.task_of(self.encoded).predict_k_best(self.model.weights, 2)
        if bounds[1] < 2:
            raise InputError("the sentence has one labelling only, so there is nothing to compare it with")
        return labels[self.length :]

    def parts(self, a: Labels, b: Labels) -> list[Part]:
        """Return the terms of the difference of the feature vectors of two labellings."""
        signed = ((a.tolist(), 1.0), (b.tolist(), -1.0))
        found = [
            part
            for t in range(self.length)
            if a[t] != b[t]
            for labels, sign in signed
            for part in self._token_parts(t, labels[t], sign)
        ]
        for labels, sign in signed:
            found += self._transition_parts(labels, sign)
        return _without_common(found)

    def _place(self, t: int) -> str:
        return str(t + 1) if self.words is None else f"{t + 1} {self.words[t]}"

    def _token_parts(self, t: int, label: int, sign: float) -> list[Part]:
        layout, name = self._layout, str(self.model.labels.names[label])
        return [
            Part((layout.first_feature_row + f) * layout.stride + label, sign * value, text, name, self._place(t))
            for f, value, text in self._names[t]
        ]

    def _transition_parts(self, labels: list[int], sign: float) -> list[Part]:
        layout, names = self._layout, [str(name) for name in self.model.labels.names]
        found = [
            Part(labels[t - 1] * layout.stride + labels[t], sign, f"after {names[labels[t - 1]]}", names[labels[t]], at)
            for t, at in ((t, self._place(t)) for t in range(1, self.length))
        ]
        if self.model.start_end and labels:
            for row, t, text in ((0, 0, "at the start"), (1, self.length - 1, "at the end")):
                index = (layout.start_row + row) * layout.stride + labels[t]
                found.append(Part(index, sign, text, names[labels[t]], self._place(t)))
        return found + self._history_parts(labels, sign)

    def _history_parts(self, labels: list[int], sign: float) -> list[Part]:
        """Return the combinations of observations and labels before a token that there are in a labelling."""
        histories, encoded, found = self.model.histories, self.encoded, []
        if histories is None:
            return []
        unknown = histories.label_count
        for t in range(self.length):
            observed: list[int] = []
            if encoded.observation_offsets is not None and encoded.observations is not None:
                first, last = (int(encoded.observation_offsets[t + k]) for k in (0, 1))
                observed = encoded.observations[first:last].astype(np.int64).tolist()
            if histories.triples:
                observed.append(histories.observation_count)
            for observation in observed:
                for j in range(int(histories.offsets[observation]), int(histories.offsets[observation + 1])):
                    before_that, before = divmod(int(histories.before[j]), unknown + 1)
                    there = histories.labels[j] == labels[t]
                    there &= before == unknown or (t >= 1 and labels[t - 1] == before)
                    there &= before_that == unknown or (t >= 2 and labels[t - 2] == before_that)
                    if there:
                        name = str(self.model.labels.names[labels[t]])
                        index = self._layout.first_combination + j
                        text = self.model.history_name(histories, j)
                        found.append(Part(index, sign, text, name, self._place(t)))
        return found

    def features(self) -> list[list[FeatureWeights]]:
        """Return for every token its features with their weights."""
        rows = self.model.feature_rows()
        return [row_weights(own, rows, self.model.labels.names) for own in self._names]


def _without_common(parts: list[Part]) -> list[Part]:
    """Leave out pairs of terms that cancel, of the same weight at the same place."""
    sums: dict[tuple[int, str], Part] = {}
    for part in parts:
        key = part.number, part.place
        before = sums.get(key)
        sums[key] = part if before is None else part._replace(value=before.value + part.value)
    return [part for part in sums.values() if part.value]


def training_examples(model: SequenceModel, labelled: LabelledSentences) -> TrainingExamples:
    """Return the sentences that the tagger was trained on, encoded with its features."""
    encoded = model.features.transform(labelled.source)
    labels = NumberedLabels.of(labelled.labels)
    if len(labels) != int(encoded.sentences[-1]):
        raise InputError(f"there are {len(labels)} labels for {encoded.sentences[-1]} tokens")
    invalid = model.settings.get("invalid_gold", "error")
    gold = fitting_gold(labels, encoded, _constraints(model), invalid, labelled.source)
    task = SequenceTask(
        gold.encoded,
        gold.numbers,
        len(model.labels.names),
        start_end=model.start_end,
        histories=model.histories,
        order=model.order,
        beam=model.beam,
    )
    texts = texts_of(labelled.source, encoded.sentences)
    return TrainingExamples(task, [text for text, kept in zip(texts, gold.kept.tolist(), strict=True) if kept])


def _constraints(model: SequenceModel) -> Any:
    stored = model.settings.get("constraints")
    return [(before, after) for before, after in stored] if isinstance(stored, list) else stored


def texts_of(source: Any, sentences: NDArray[np.uint64]) -> list[str]:
    """Return the words of sentences, as far as they are known."""
    bounds = sentences.astype(np.int64).tolist()
    words = words_of(source)
    if words is None:
        return [f"sentence {i + 1}" for i in range(len(bounds) - 1)]
    return [" ".join(words[start:end]) for start, end in itertools.pairwise(bounds)]


def words_of(source: Any) -> list[str] | None:
    """Return the words of all sentences in a row; None where features are ready."""
    if hasattr(source, "word_column"):
        return [table.cell(t, source.word_column) for table in source.tables for t in range(table.tokens)]
    if not isinstance(source, Sequence):
        return None
    tokens = [token for sentence in source for token in (sentence if isinstance(sentence, (list, tuple)) else [None])]
    if all(isinstance(token, str) for token in tokens):
        return tokens  # type: ignore[return-value]
    if all(isinstance(token, tuple) and token and isinstance(token[0], str) for token in tokens):
        return [token[0] for token in tokens if token]
    return None


def explain(
    model: SequenceModel,
    sentence: ExplainedSentence,
    wanted: Wanted,
    training: LabelledSentences | None = None,
) -> Explanation:
    """Return why the tagger gives a sentence these labels, with shares of training examples if these are given."""
    if training is None:
        return explanation_of(model, sentence.compared(wanted))
    return explanation_of(
        model,
        sentence.compared(wanted),
        lambda state, delta: explicit_terms(state, training_examples(model, training), delta),
    )
