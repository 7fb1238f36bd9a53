"""The estimator for entities and relations."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Self

from numpy.typing import ArrayLike

from marginloom.common.parameters import checked
from marginloom.common.threads import resolve_threads
from marginloom.features import Lists
from marginloom.io.files import StrPath
from marginloom.tasks.base.confidence import calibrated_method
from marginloom.tasks.base.estimator import Estimator, Posed
from marginloom.tasks.base.model import Model
from marginloom.tasks.base.outputs import OutputList
from marginloom.tasks.relations.evaluator import Labelled
from marginloom.tasks.relations.features import SpanFeatureSet
from marginloom.tasks.relations.model import RelationsModel
from marginloom.tasks.relations.problem import RelationsProblem
from marginloom.tasks.relations.records import checked_sentences
from marginloom.tasks.relations.sentences import Corpus
from marginloom.tasks.relations.spans import checked_tagger
from marginloom.tasks.relations.task import Losses, Solver
from marginloom.tasks.relations.type_table import Line, given_relation_types
from marginloom.training.callbacks import Callback
from marginloom.training.checkpoint import Checkpoint
from marginloom.training.spec import training_threads


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class RelationExtractor(Estimator):
    """Finds the types of given spans and the relations between them, jointly and under constraints.

    Parameters
    ----------
    {common parameters}
    relation_types : sequence of tuple or path, optional
        Which types a relation may connect: tuples (relation, head type, tail type), several for a relation if need be,
        or a file of them, one a line. By default those that occur in training.
    type_constraints : {"both", "predict", "none"}
        Where the table of types counts: in training and prediction, in prediction only, or never.
    entity_loss, pair_loss, missed_relation_loss : float
        What a wrong type costs in training, a relation where gold has none, and a gold relation that is missed or
        mistaken for another one. A larger `missed_relation_loss` raises recall.
    features : str
        The feature set ``"spans"``, or a file of templates.
    hash_bits : int, optional
        Number features by so many bits of a hash; None keeps a vocabulary.
    min_count : int
        Features seen less often in training are left out.
    clusters : path, optional
        File of Brown clusters.
    gazetteers : mapping, optional
        From a name to a file with an entry a line.
    invalid_gold : {"error", "repair", "skip"}
        What to do with gold relations that the table forbids, and with all but the first of one ordered pair: raise an
        error, drop the relations, or leave the sentences out. The last two are counted in an `InputWarning`.
    solver : {"native", "ilp"}
        How the best types and relations are found: by branch and bound, or as an integer program by scipy. Both are
        exact up to their limits.
    node_limit : int, optional
        Nodes that ``"native"`` visits for a sentence at most, 1,000,000 by default; 0 is no limit.
    time_limit : float, optional
        Seconds that ``"ilp"`` takes for a sentence at most, 60 by default; 0 is no limit.

    Attributes
    ----------
    classes_ : list of str
        The types of entities.
    relations_ : list of str
        The types of relations.
    relation_types_ : list of tuple
        The table of types.
    {common attributes}

    Examples
    --------
    >>> X = [{"tokens": ["Ann", "lives", "in", "Ulm"], "entities": [{"start": 0, "end": 1}, {"start": 3, "end": 4}]}]
    >>> types = [{"type": "Peop", "start": 0, "end": 1}, {"type": "Loc", "start": 3, "end": 4}]
    >>> y = [{"entities": types, "relations": [{"type": "Live_In", "head": 0, "tail": 1}]}]
    >>> extractor = RelationExtractor("dcd-ssvm", C=1.0).fit(X, y)
    >>> extractor.predict(X)[0]["relations"]
    [{'type': 'Live_In', 'head': 0, 'tail': 1}]
    """

    relation_types: Sequence[Line] | StrPath | None = None
    type_constraints: str = "both"
    entity_loss: float = 2.0
    pair_loss: float = 1.0
    missed_relation_loss: float = 1.5
    features: str = "spans"
    hash_bits: int | None = None
    min_count: int = 1
    clusters: StrPath | None = None
    gazetteers: Mapping[str, StrPath] | None = None
    invalid_gold: str = "error"
    solver: str = "native"
    node_limit: int | None = None
    time_limit: float | None = None

    model_type = RelationsModel
    fit_inputs = """
X : list of dict
    Sentences: ``tokens``, ``entities`` with ``start`` and ``end``, and ``pos`` if there are tags.
y : list of dict, optional
    For every sentence its ``entities`` with ``type`` too, and its ``relations`` with ``type``, ``head`` and ``tail``.
    None where the sentences of X have them already.
"""

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        eval_set: Any = None,
        callbacks: Sequence[Callback] = (),
        checkpoint: StrPath | Checkpoint | None = None,
        resume: bool = False,
    ) -> Self:
        """Train.

        Parameters
        ----------
        {inputs}
        sample_weight : array, optional
            Factor of C for every example; 0 drops it.
        eval_set : tuple (X, y), optional
            Scored after every pass as ``dev``; y may be None.
        {common parameters of fit}

        Returns
        -------
        RelationExtractor
            The estimator itself.
        """
        return self._fit(
            self._posing(X, y, eval_set),
            sample_weight=sample_weight,
            callbacks=callbacks,
            checkpoint=checkpoint,
            resume=resume,
        )

    def _pose(self, X: Any, y: Any) -> Posed:
        given = self.relation_types
        problem = RelationsProblem(
            training=checked_sentences(X, y, labelled=True),
            features=self._new_features(),
            relation_types=None if given is None else given_relation_types(given),
            type_constraints=self.type_constraints,
            losses=Losses(self.entity_loss, self.pair_loss, self.missed_relation_loss),
            solver=Solver(self.solver, self.node_limit, self.time_limit),
            invalid_gold=self.invalid_gold,
        )
        return Posed(problem)

    def _to_score(self, problem: RelationsProblem, X: Any, y: Any) -> Labelled:
        return self._gold_examples(X, y)

    def _new_features(self) -> SpanFeatureSet:
        return SpanFeatureSet(
            self.features,
            hash_bits=None if self.hash_bits is None else checked("hash_bits", self.hash_bits, "hash bits"),
            min_count=checked("min_count", self.min_count, "positive count"),
            lists=Lists.read(self.clusters, self.gazetteers),
            n_threads=resolve_threads(training_threads(self.algorithm, self.n_threads)),
        )

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        extractor: RelationsModel = self.model_
        self.classes_ = list(extractor.types)
        self.relations_ = list(extractor.relations)
        self.relation_types_ = list(extractor.table)

    def predict(self, X: Any, spans: Any = None) -> Any:
        """Return for every sentence a dict of its entities, with types, and its relations.

        Parameters
        ----------
        X : list of dict
            Sentences: ``tokens``, ``entities`` with ``start`` and ``end``, and ``pos`` if the features read tags.
        spans : SequenceTagger, optional
            Finds the spans; sentences need no ``entities`` then, and those that they have do not count.

        Returns
        -------
        list of dict
            ``entities`` and ``relations``, as `fit` takes them. numpy takes it for an array of one dimension.
        """
        self._check_fitted()
        tagger = None if spans is None else checked_tagger(spans)
        corpus = checked_sentences(X, spans=tagger is None)
        extractor: RelationsModel = self.model_
        return OutputList(extractor.predict(corpus, self.n_threads, tagger))

    def calibrate(self, X: Any, y: Any = None) -> Self:
        """Fit how scores become probabilities, on sentences that training did not see.

        Parameters
        ----------
        X, y : lists of dict
            Sentences with their gold types and relations, as `fit` takes them.

        Returns
        -------
        RelationExtractor
            The estimator itself.
        """
        return super().calibrate(X, y)

    def _gold_examples(self, X: Any, y: Any) -> Labelled:
        return Labelled(checked_sentences(X, y, labelled=True))

    @calibrated_method
    def predict_proba(self, X: Any, *, spans: Any = None) -> list[dict[str, Any] | None]:
        """Return for every sentence the probabilities of types and relations; only after `calibrate`.

        ``entities`` has a dict from types to probabilities for each entity, ``relations`` for each ordered pair its
        ``head`` and ``tail`` and ``types``, such a dict in which None means no relation. It is None, with a warning,
        for a sentence with more than 8 entities, whose types are too many to enumerate.
        """
        tagger = None if spans is None else checked_tagger(spans)
        corpus = checked_sentences(X, spans=tagger is None)
        found: list[dict[str, Any] | None] = self.model_.probabilities(corpus, self.n_threads, tagger)
        return found

    def score(self, X: Any, y: Any = None) -> float:
        """Return the F1 of relations, micro-averaged over their types."""
        return float(self.evaluate(X, y)["relation_f1"])

    def evaluate(self, X: Any, y: Any = None, *, spans: Any = None) -> dict[str, Any]:
        """Return all scores, see `marginloom.tasks.relations.metrics.relation_scores`.

        With a tagger as `spans`, entities and relations are scored on the spans that it finds.
        """
        self._check_fitted()
        tagger = None if spans is None else checked_tagger(spans)
        extractor: RelationsModel = self.model_
        corpus: Corpus = checked_sentences(X, y, labelled=True)
        return extractor.scores(Labelled(corpus, tagger), self.n_threads)

    @classmethod
    def _own_parameters(cls, model: RelationsModel) -> dict[str, Any]:
        settings, losses, solver = model.settings, model.losses, model.solver
        return {
            "relation_types": list(model.table) if settings.get("relation_types_given") else None,
            "type_constraints": model.type_constraints,
            "entity_loss": losses.entity,
            "pair_loss": losses.pair,
            "missed_relation_loss": losses.missed,
            "features": model.features.name,
            "hash_bits": model.features.hash_bits,
            "solver": solver.name,
            "node_limit": solver.node_limit,
            "time_limit": solver.time_limit,
            **{name: settings[name] for name in ("invalid_gold", "min_count") if name in settings},
        }
