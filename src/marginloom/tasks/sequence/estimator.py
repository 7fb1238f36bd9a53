"""The estimator for sequences."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from marginloom.common.parameters import checked
from marginloom.core.prefixes import UPDATES
from marginloom.errors import InputError
from marginloom.features import ExtractedFeatures, FeatureSet
from marginloom.io.columns import checked_column, checked_columns
from marginloom.io.files import StrPath
from marginloom.tasks.base.confidence import calibrated_method
from marginloom.tasks.base.estimator import Estimator, Posed
from marginloom.tasks.base.explanation import Explanation, FeatureWeights, Wanted
from marginloom.tasks.base.model import Model
from marginloom.tasks.base.outputs import OutputList
from marginloom.tasks.sequence.constraints import Pair
from marginloom.tasks.sequence.explanations import ExplainedSentence, explain, words_of
from marginloom.tasks.sequence.features import (
    AUTO,
    LabelledSentences,
    evaluation_set,
    labelled_sentences,
    named,
    new_features,
    source_of,
    training_sentences,
)
from marginloom.tasks.sequence.model import SequenceModel, SequenceProblem
from marginloom.tasks.sequence.named_weights import NamedWeights
from marginloom.training.callbacks import Callback
from marginloom.training.checkpoint import Checkpoint
from marginloom.training.spec import training_threads


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class SequenceTagger(Estimator):
    """Assigns a label to every token of a sentence.

    Parameters
    ----------
    {common parameters}
    features : str, optional
        ``"auto"``: tokens that are strings are words, from which the feature set ``"rich"`` is extracted, and all
        others are features. None: X holds features, per token a list or set of strings, or a dict from names to
        numbers, strings, lists, sets or dicts, as python-crfsuite takes them; or X is a matrix with a row per token. A
        feature set's name (``"words"``, ``"tagging"``, ``"rich"``, ``"chunking"``, ``"ner"``, ``"ner-observed"``,
        ``"ner-rich"``) or a file of templates: X holds words, or tuples of columns.
    min_count : int
        Features seen less often in training are left out.
    hash_bits : int, optional
        Number extracted features by a hash of so many bits instead of keeping a vocabulary.
    pos_column : int or str, optional
        Column of the parts of speech, by number from 1 or by name, for the feature sets that can use it.
    columns : tuple of str, optional
        What the words of X hold where they are tuples, such as ``("form", "upos", "lemma")``: names of CoNLL-U in small
        letters, or your own. A tagger knows the columns that it reads by these names, and finds them wherever they
        stand. Without it columns have numbers, as in plain files, and the first is the word.
    clusters : path, optional
        File of Brown clusters for the feature set ``ner`` and templates.
    gazetteers : mapping, optional
        From a name to a file with an entry a line, for the feature set ``ner`` and templates.
    start_end : bool
        Learn which labels begin and end a sentence.
    label_costs : mapping, optional
        From a label to what a wrong prediction costs where it is right (Hamming loss: 1 for all).
    constraints : {"none", "bio", "bioes", "bilou"} or list of pairs, optional
        Labels that must not follow each other; in a pair, ``"<s>"`` and ``"</s>"`` are the start and the end.
    invalid_gold : {"error", "repair", "skip"}
        What to do with right labels that break the constraints: refuse them; make them keep to the scheme, so that
        spans without a beginning or an end get one; or leave such sentences out. The last two are counted and said in
        an `InputWarning`.
    order : {1, 2}
        How many labels before a token count. With 2, exact search looks at all pairs of labels.
    beam : int, optional
        Search with a beam of so many states instead of exactly; two labels before a token count. For perceptrons and
        1-best MIRA.
    update : {"max-violation", "early", "standard"}
        Which part of a sentence beam search learns from.

    Attributes
    ----------
    classes_ : list
        The labels.
    columns_ : tuple of str
        The columns that the tagger reads, by name or number; none where features are ready.
    attributes_ : list of str
        The names of the features.
    state_features_, transition_features_ : mapping
        The weights that are not 0, by pairs of a feature and a label, and of a label and the one that follows it.
    {common attributes}

    Examples
    --------
    >>> X = [["the", "dog", "barks"], ["the", "bark"]]
    >>> y = [["D", "N", "V"], ["D", "N"]]
    >>> tagger = SequenceTagger(features="words", C=1.0).fit(X, y)
    >>> tagger.predict([["the", "dog"]])
    [['D', 'N']]
    """

    features: str | None = AUTO
    min_count: int = 1
    hash_bits: int | None = None
    pos_column: int | str | None = None
    columns: Sequence[str] | None = None
    clusters: StrPath | None = None
    gazetteers: Mapping[str, StrPath] | None = None
    start_end: bool = False
    label_costs: Mapping[Any, float] | None = None
    constraints: str | Iterable[Pair] | None = None
    invalid_gold: str = "error"
    order: int = 1
    beam: int | None = None
    update: str = UPDATES[0]

    model_type = SequenceModel
    fit_inputs = """
X : list of sentences, or a CSR or dense matrix with a row per token
    What `features` says. An iterator over sentences whose tokens have strings or dicts is encoded as it comes and
    never held as a whole.
y : list of label sequences, or a flat array if `lengths` is given
    The gold labels, strings or whole numbers.
"""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        lengths: ArrayLike | None = None,
        eval_set: Any = None,
        X_dev: Any = None,
        y_dev: Any = None,
        callbacks: Sequence[Callback] = (),
        checkpoint: StrPath | Checkpoint | None = None,
        resume: bool = False,
    ) -> Self:
        """Train.

        Parameters
        ----------
        {inputs}
        sample_weight : array, optional
            Factor of C for every sentence; 0 drops it.
        lengths : array, optional
            Lengths of the sentences, where X is one matrix.
        eval_set : tuple (X, y) or (X, y, lengths), optional
            Scored after every pass as ``dev``.
        X_dev, y_dev : lists, optional
            The same as ``eval_set=(X_dev, y_dev)``, as users of CRFsuite write it.
        {common parameters of fit}

        Returns
        -------
        SequenceTagger
            The estimator itself.
        """

        def pose() -> tuple[Posed, dict[str, Any]]:
            columns = checked_columns(self.columns)
            training = training_sentences(self.features, X, y, lengths)
            to_score = _one_evaluation_set(eval_set, X_dev, y_dev)
            problem = SequenceProblem(
                features=self._new_features(training.source),
                training=training.with_columns(columns),
                start_end=checked("start_end", self.start_end, "switch"),
                label_costs=self.label_costs,
                constraints=self.constraints,
                invalid_gold=self.invalid_gold,
                order=self.order,
                beam=self.beam,
                update=self.update,
                settings={} if columns is None else {"columns": list(columns)},
            )
            return Posed(problem), {} if to_score is None else {"dev": evaluation_set(to_score).with_columns(columns)}

        return self._fit(
            pose,
            sample_weight=sample_weight,
            callbacks=callbacks,
            checkpoint=checkpoint,
            resume=resume,
        )

    @property
    def tagger_(self) -> SequenceModel:
        """The trained tagger; the same as `model_`."""
        tagger: SequenceModel = self.model_
        return tagger

    @tagger_.setter
    def tagger_(self, tagger: SequenceModel) -> None:
        self.model_ = tagger

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        self.classes_ = list(self.tagger_.labels.names)
        self.columns_ = tuple(self.tagger_.columns)

    def _source(self, X: Any, lengths: ArrayLike | None) -> Any:
        return named(source_of(X, lengths), checked_columns(self.columns))

    @property
    def attributes_(self) -> list[str]:
        """The names of the features."""
        features = self.tagger_.features
        return [features.describe(number) for number in range(features.feature_count)]

    @property
    def state_features_(self) -> NamedWeights:
        """The weights that are not 0, by pairs of a feature and a label."""
        return self.tagger_.state_weights()

    @property
    def transition_features_(self) -> NamedWeights:
        """The weights that are not 0, by pairs of a label and the one that follows it."""
        return self.tagger_.transition_weights()

    def predict(self, X: Any, lengths: ArrayLike | None = None, *, beam: int | None = None) -> Any:
        """Return the best labels: a list of lists, or a flat array if `lengths` is given.

        numpy takes the list for an array of one dimension, with a list for each sentence. `beam` is another beam than
        that of training, for taggers that have one.
        """
        self._check_fitted()
        source = self._source(X, lengths)
        offsets, numbers = self.tagger_.predict(source, self.n_threads, beam)
        labels = self.tagger_.labels.decode(numbers)
        if lengths is not None:
            return labels
        items = labels.tolist()
        bounds = offsets.tolist()
        return OutputList(items[start:end] for start, end in itertools.pairwise(bounds))

    def calibrate(self, X: Any, y: Any, lengths: ArrayLike | None = None) -> Self:
        """Fit how scores become probabilities, on sentences that training did not see.

        Afterwards there are `predict_proba`, `predict_marginals`, `span_probabilities` and `log_probability`.

        Parameters
        ----------
        X, y : lists
            Sentences with their gold labels, as `fit` takes them.
        lengths : array, optional
            Lengths of the sentences, where X is one matrix.

        Returns
        -------
        SequenceTagger
            The estimator itself.
        """
        self._check_fitted()
        self.tagger_.calibrate(self.tagger_.evaluator(self._gold_examples(X, y, lengths), self.n_threads))
        return self

    def _gold_examples(self, X: Any, y: Any, lengths: ArrayLike | None = None) -> LabelledSentences:
        return labelled_sentences(X, y, lengths).with_columns(checked_columns(self.columns))

    @calibrated_method
    def predict_proba(self, X: Any, lengths: ArrayLike | None = None) -> Any:
        """Return the probabilities of the labels of every token, in the order of `classes_`; only after `calibrate`.

        A list of arrays, one for each sentence with a row per token; one array if `lengths` is given.
        """
        tables = self.tagger_.probabilities(self._source(X, lengths), self.n_threads)
        if lengths is not None:
            return np.concatenate(tables) if tables else np.zeros((0, len(self.classes_)))
        return OutputList(tables)

    @calibrated_method
    def predict_marginals(self, X: Any) -> list[list[dict[Any, float]]]:
        """Return for every token a dict from labels to probabilities, as sklearn-crfsuite; only after `calibrate`."""
        tables = self.tagger_.probabilities(self._source(X, None), self.n_threads)
        return [[dict(zip(self.classes_, row, strict=True)) for row in table.tolist()] for table in tables]

    @calibrated_method
    def predict_marginals_single(self, xseq: Any) -> list[dict[Any, float]]:
        """Return the same as `predict_marginals` for one sentence."""
        return list(self.predict_marginals([xseq])[0])

    @calibrated_method
    def span_probabilities(self, X: Any, spans: Any = None) -> list[list[float]]:
        """Return for every sentence the probabilities of spans: that the labels mark exactly these; after `calibrate`.

        Parameters
        ----------
        X : list of sentences
            As for `predict`.
        spans : list of lists, optional
            For every sentence its spans: type, first token, one past the last token; by default those of
            `predict_spans`.
        """
        source = self._source(X, None)
        given = self.tagger_.predict_spans(source, self.n_threads) if spans is None else [list(own) for own in spans]
        return self.tagger_.span_probabilities(source, given)

    def predict_single(self, xseq: Any) -> Any:  # the parameter is called as in sklearn-crfsuite
        """Return the best labels of one sentence, as a list."""
        return self.predict([xseq])[0]

    def predict_spans(self, X: Any) -> list[list[tuple[str, int, int]]]:
        """Return for every sentence the spans that the best labels mark: type, first token, one past the last token."""
        self._check_fitted()
        return self.tagger_.predict_spans(self._source(X, None), self.n_threads)

    def predict_k_best(
        self, X: Any, k: int = 3, lengths: ArrayLike | None = None
    ) -> list[list[tuple[list[Any], float]]]:
        """Return for every sentence its k best labellings with their scores, best first (fewer if there are fewer)."""
        self._check_fitted()
        k = checked("k", k, "positive count")
        decode = self.tagger_.labels.decode
        return [
            [(decode(numbers).tolist(), score) for numbers, score in labellings]
            for labellings in self.tagger_.predict_k_best(self._source(X, lengths), k, self.n_threads)
        ]

    def explain(
        self, x: Any, y: Any = None, *, token: int | None = None, instead: Any = None, training: Any = None
    ) -> Explanation:
        """Return why the model gives these labels and not another: the difference of their scores, split by feature.

        Parameters
        ----------
        x : list of tokens
            One sentence.
        y : list, optional
            Its gold labels, to compare the prediction with; by default the second best labelling.
        token : int, optional
            The token, from 0, whose label to explain; the others stay. By default against its second best label.
        instead : str or int, optional
            The label of that token to compare with.
        {training examples}
        """
        self._check_fitted()
        sentence = ExplainedSentence(self.tagger_, self._source([x], None), 0, words_of([x]))
        examples = None if training is None else self._gold_examples(*training)
        return explain(self.tagger_, sentence, Wanted(token, instead, y), examples)

    def features_of(self, x: Any) -> list[list[FeatureWeights]]:
        """Return for every token of one sentence its features, with their values and weights by label."""
        self._check_fitted()
        return ExplainedSentence(self.tagger_, self._source([x], None), 0).features()

    def score(self, X: Any, y: Any, lengths: ArrayLike | None = None) -> float:
        """Return the share of tokens that get the right label."""
        return float(self.evaluate(X, y, lengths)["accuracy"])

    def evaluate(
        self,
        X: Any,
        y: Any,
        lengths: ArrayLike | None = None,
        *,
        strict: str | None = None,
        beam: int | None = None,
    ) -> dict[str, Any]:
        """Return all scores: accuracy, those of spans where labels mark some, averages, and those of every label.

        They are those of `marginloom.metrics.sequence_scores`; with `strict`, only spans that are well formed in a
        scheme (``"bio"``, ``"bioes"``, ``"bilou"``, ``"ioe"``) count. `beam` is that of `predict`.
        """
        self._check_fitted()
        labelled = self._gold_examples(X, y, lengths)
        evaluator = self.tagger_.evaluator(labelled, self.n_threads, strict, beam)
        evaluator.warn_of_unseen()
        return evaluator.report(self.tagger_.weights)

    @classmethod
    def _own_parameters(cls, model: SequenceModel) -> dict[str, Any]:
        settings, features = model.settings, model.features
        constraints = settings.get("constraints")
        return {
            "features": features.name if features.kind == "extracted" else None,
            "hash_bits": getattr(features, "hash_bits", None),
            "pos_column": features.columns.portable("pos", features.pos_column, settings)
            if isinstance(features, ExtractedFeatures)
            else None,
            "columns": checked_columns(settings.get("columns")),
            "start_end": model.start_end,
            "order": model.order if model.beam is None else 1,
            "beam": model.beam,
            "label_costs": dict(settings.get("label_costs", [])) or None,
            "constraints": [tuple(pair) for pair in constraints] if isinstance(constraints, list) else constraints,
            **{name: settings[name] for name in ("invalid_gold", "min_count", "update") if name in settings},
        }

    def _new_features(self, source: Any) -> FeatureSet:
        return new_features(
            self.features,
            source,
            min_count=checked("min_count", self.min_count, "positive count"),
            hash_bits=None if self.hash_bits is None else checked("hash_bits", self.hash_bits, "hash bits"),
            pos_column=checked_column("pos_column", self.pos_column),
            columns=checked_columns(self.columns),
            clusters=self.clusters,
            gazetteers=self.gazetteers,
            n_threads=training_threads(self.algorithm, self.n_threads),
        )


def _one_evaluation_set(eval_set: Any, X_dev: Any, y_dev: Any) -> Any:
    """Return what to score on, however it was given."""
    if X_dev is None and y_dev is None:
        return eval_set
    if eval_set is not None:
        raise InputError("eval_set and X_dev mean the same; give one of them")
    if X_dev is None or y_dev is None:
        raise InputError(f"{'X_dev' if X_dev is None else 'y_dev'} is missing: sentences to score on need their labels")
    return X_dev, y_dev
