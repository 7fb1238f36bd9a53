"""The estimator for dependency trees."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.common.parameters import checked
from marginloom.common.threads import resolve_threads
from marginloom.errors import InputError
from marginloom.features import Lists
from marginloom.io.columns import NamedRows, checked_column, checked_columns
from marginloom.io.files import StrPath
from marginloom.tasks.base.confidence import calibrated_method
from marginloom.tasks.base.estimator import Estimator, Posed
from marginloom.tasks.base.explanation import Explanation, FeatureWeights, Wanted
from marginloom.tasks.base.model import Model
from marginloom.tasks.base.outputs import OutputList
from marginloom.tasks.parse.explanations import ExplainedTree, explain
from marginloom.tasks.parse.features import AUTO, ArcFeatureSet
from marginloom.tasks.parse.model import ParseModel, ParseProblem, trees_as_lists
from marginloom.tasks.parse.sentences import checked_sentences, named_rows, offsets_of
from marginloom.tasks.parse.tagged import checked_tagger, tagged_words
from marginloom.tasks.parse.transition import checked_method, settled_search
from marginloom.tasks.parse.tree_labels import LABEL_STAGES, LABEL_TREES, check_label_options
from marginloom.tasks.parse.treebank import Treebank
from marginloom.training.spec import training_threads


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class DependencyParser(Estimator):
    """Finds the head of every word of a sentence, and what the word is to it.

    Parameters
    ----------
    {common parameters}
    method : {"graph", "transition"}
        How trees are found: the best one by the scores of all arcs, exactly; or from left to right by beam search,
        which is faster for long sentences and may miss the best tree.
    beam : int, optional
        States that beam search keeps after each step, up to 4,096; by default 8. Prediction can take another number.
    update : {"max-violation", "early", "standard"}, optional
        Which prefix of a derivation beam search learns from; by default ``"max-violation"``.
    merging : bool
        Whether beam search takes states that features cannot tell apart for one (dynamic programming).
    order : {1, 2}
        Whether arcs score alone, or together with their nearest sibling too.
    projective : bool
        Whether no arcs cross. With order 2, other trees are not searched exactly.
    labelled : bool
        Whether arcs have labels.
    label_stage : {"tree", "arc"}
        When labels are found: in a second, exact step, when the tree is known; or with the arcs, so that they count in
        the choice of the tree.
    label_cost : float, optional
        C of the second step; by default 0.1.
    label_trees : {"gold", "jackknife"}
        Trees that the second step learns from: the gold ones; or those of parsers that were trained on the other folds
        of the sentences, which takes longer.
    roots : {"one", "many"}
        How many words may have no head.
    features : str
        The feature set ``"arcs-rich"`` or ``"arcs"``, for method transition ``"states-full"``, ``"states-rich"`` or
        ``"states"``, or a file of templates. ``"auto"`` is the first of these for the method.
    hash_bits : int, "auto" or None
        Number features by so many bits of a hash; None keeps a vocabulary of those of right arcs, which takes longer.
        ``"auto"`` means 14 to 22 bits by the number of words, unless `min_count` asks for a vocabulary.
    min_count : int
        Features of a vocabulary seen less often in training are left out.
    pos_column : str or int, optional
        Column of the parts of speech, by name or by number from 1; by default ``"upos"``.
    xpos : bool, optional
        Whether features use the other part of speech too, the column ``"xpos"``; by default where it is not constant.
    feats : bool, optional
        Whether features use the morphological features, the column ``"feats"``, as CoNLL-U has them; by default where
        it is not constant.
    columns : tuple of str, optional
        What the words of X hold, such as ``("form", "lemma", "upos")``; by default the first two, three or four of
        ``("form", "upos", "xpos", "feats")``, as long as they are. Names are those of CoNLL-U in small letters, or your
        own. A parser knows the columns that it reads by these names, and finds them wherever they stand.
    clusters : path, optional
        File of Brown clusters.
    gazetteers : mapping, optional
        From a name to a file with an entry a line, for templates.
    invalid_gold : {"repair", "skip", "error"}
        What to do with trees that are not projective where they must be: lift their shortest crossing arcs, leave such
        sentences out, or refuse them. The first two are counted and said in an `InputWarning`.
    feature_cache : int or str, optional
        Memory for features of all arcs, which are then made once instead of for every search: bytes, or a text such as
        ``"1G"``. It changes the time and not the result.

    Attributes
    ----------
    classes_ : list
        The labels, none where arcs have none.
    columns_ : tuple of str
        The columns that the parser reads.
    {common attributes}

    Examples
    --------
    >>> X = [[("the", "DET"), ("dog", "NOUN"), ("barks", "VERB")], [("it", "PRON"), ("barks", "VERB")]]
    >>> y = [[(2, "det"), (3, "nsubj"), (0, "root")], [(2, "nsubj"), (0, "root")]]
    >>> parser = DependencyParser(labelled=True, hash_bits=12, C=1.0).fit(X, y)
    >>> parser.predict([[("the", "DET"), ("bark", "NOUN")]])
    [[(2, 'det'), (0, 'root')]]
    """

    method: str = "graph"
    beam: int | None = None
    update: str | None = None
    merging: bool = True
    order: int = 1
    projective: bool = True
    labelled: bool = False
    label_stage: str = LABEL_STAGES[0]
    label_cost: float | None = None
    label_trees: str = LABEL_TREES[0]
    roots: str = "one"
    features: str = AUTO
    hash_bits: int | str | None = AUTO
    min_count: int = 1
    pos_column: str | int | None = None
    xpos: bool | None = None
    feats: bool | None = None
    columns: Sequence[str] | None = None
    clusters: StrPath | None = None
    gazetteers: Mapping[str, StrPath] | None = None
    invalid_gold: str = "repair"
    feature_cache: int | str | None = None

    model_type = ParseModel
    fit_inputs = """
X : list of sentences
    For every word a tuple of what `columns` says; (form, upos), (form, upos, xpos) or (form, upos, xpos, feats) by
    default.
y : list of trees
    For every word its head, from 1, 0 for the root; or a pair (head, label).
"""

    def _pose(self, X: Any, y: Any) -> Posed:
        columns = checked_columns(self.columns)
        projective = checked("projective", self.projective, "switch")
        search = settled_search(
            checked_method(self.method),
            beam=self.beam,
            merging=self.merging,
            update=self.update,
            **{
                f"order={self.order}": self.order != 1,
                "projective=False": not projective,
                f"roots={self.roots!r}": self.roots != "one",
                "feature_cache": self.feature_cache is not None,
            },
        )
        in_tree = check_label_options(self.labelled, self.label_stage, self.label_cost, self.label_trees)
        problem = ParseProblem(
            training=Treebank.from_lists(X, y, columns),
            features=self._new_features(self.method, with_labels=not in_tree),
            label_features=self._new_features("labels") if in_tree else None,
            label_cost=self.label_cost,
            label_trees=self.label_trees,
            projective=projective,
            search=search,
            roots=self.roots,
            invalid_gold=self.invalid_gold,
            feature_cache=self.feature_cache,
            settings={} if columns is None else {"columns": list(columns)},
        )
        return Posed(problem)

    def _to_score(self, problem: ParseProblem, X: Any, y: Any) -> Treebank:
        return Treebank.from_lists(X, y, checked_columns(self.columns))

    def _new_features(self, method: str, with_labels: bool = True) -> ArcFeatureSet:
        order = self.order
        if isinstance(order, bool) or order not in (1, 2):
            raise InputError(f"order must be 1 or 2, not {order!r}")
        return ArcFeatureSet(
            self.features,
            method=method,
            order=int(order),
            labelled=with_labels and checked("labelled", self.labelled, "switch"),
            hash_bits=self.hash_bits,
            min_count=checked("min_count", self.min_count, "positive count"),
            pos_column=checked_column("pos_column", self.pos_column),
            xpos=self.xpos,
            feats=self.feats,
            lists=Lists.read(self.clusters, self.gazetteers),
            n_threads=resolve_threads(training_threads(self.algorithm, self.n_threads)),
        )

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        self.classes_: list[Any] = [] if self.model_.labels is None else list(self.model_.labels.names)
        self.columns_ = tuple(self.model_.features.columns.read)

    def _sentences(self, X: Any) -> NamedRows:
        columns = checked_columns(self.columns)
        return named_rows(checked_sentences(X, columns), columns)

    def predict(self, X: Any, *, beam: int | None = None, tagger: Any = None) -> Any:
        """Return the best trees: for every word its head, or a pair (head, label) where arcs have labels.

        numpy takes the list for an array of one dimension, with a list for each sentence. `beam` is another number of
        states than in training, for a parser that searches with a beam.
        With a fitted `SequenceTagger` as `tagger`, X holds lists of words, which it gives their parts of speech.
        """
        self._check_fitted()
        if tagger is not None:
            X = tagged_words(checked_tagger(tagger), X, self.columns_, self.n_threads)
        sentences, trees = self.model_.with_beam(beam).predict(self._sentences(X), self.n_threads)
        return OutputList(trees_as_lists(sentences, trees, self.model_.labels))

    def predict_k_best(self, X: Any, k: int = 3) -> list[list[tuple[list[Any], float]]]:
        """Return for every sentence its k best trees with their scores, best first (fewer if there are fewer)."""
        self._check_fitted()
        found = self.model_.predict_k_best(self._sentences(X), checked("k", k, "positive count"), self.n_threads)
        trees = [trees_as_lists(offsets_of([tree.heads]), tree, self.model_.labels)[0] for tree in found.trees]
        bounds = found.bounds.tolist()
        scored = list(zip(trees, found.scores.tolist(), strict=True))
        return [scored[start:end] for start, end in itertools.pairwise(bounds)]

    def _gold_examples(self, X: Any, y: Any) -> Treebank:
        return Treebank.from_lists(X, y, checked_columns(self.columns))

    @calibrated_method
    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of heads for every sentence, an array with a row per word; only after `calibrate`.

        Column 0 is the root, column h the word h. Where labels are found with the arcs (`label_stage`), a third axis
        has them, in the order of `classes_`.
        """
        return OutputList(self.model_.probabilities(self._sentences(X), self.n_threads))

    @calibrated_method
    def predict_marginals(self, X: Any) -> list[list[dict[Any, float]]]:
        """Return for every word a dict from heads, or pairs (head, label), to probabilities; only after `calibrate`.

        Pairs are there where labels are found with the arcs (`label_stage`).
        What is impossible is left out.
        """
        found = self.model_.probabilities(self._sentences(X), self.n_threads)
        return [[self._named(row) for row in table] for table in found]

    def _named(self, row: NDArray[np.float64]) -> dict[Any, float]:
        places = zip(*(axis.tolist() for axis in np.nonzero(row)), strict=True)
        values = row[np.nonzero(row)].tolist()
        if row.ndim == 1:
            return {head: value for (head,), value in zip(places, values, strict=True)}
        return {(head, self.classes_[label]): value for (head, label), value in zip(places, values, strict=True)}

    def explain(
        self, x: Any, y: Any = None, *, token: int | None = None, instead: Any = None, training: Any = None
    ) -> Explanation:
        """Return why the model gives this tree and not another: the difference of their scores, split by feature.

        Parameters
        ----------
        x : list of words
            One sentence.
        y : list, optional
            Its gold tree, to compare the prediction with; by default the second best tree.
        token : int, optional
            The word, from 0, whose arc to explain; the others stay. By default against its second best arc.
        instead : int, str or tuple, optional
            The head of that word, from 1, its label, or a pair (head, label), to compare with.
        {training examples}
        """
        self._check_fitted()
        sentence = ExplainedTree(self.model_, self._sentences([x]), 0, [word[0] for word in x])
        examples = None
        if training is not None:
            words = [word[0] for sentence in training[0] for word in sentence]
            examples = self._gold_examples(*training), words
        return explain(self.model_, sentence, Wanted(token, instead, y), examples)

    def features_of(self, x: Any, head: int, token: int) -> list[FeatureWeights]:
        """Return the features of an arc of one sentence with their weights: from a head to a word.

        The head counts from 1, 0 is the root; the word counts from 0.
        """
        self._check_fitted()
        return ExplainedTree(self.model_, self._sentences([x]), 0).features(head, token)

    def score(self, X: Any, y: Any) -> float:
        """Return the share of words, without punctuation, that get the right head, and label if arcs have labels."""
        scores = self.evaluate(X, y)
        return float(scores["las" if self.model_.labels is not None else "uas"])

    def evaluate(self, X: Any, y: Any, *, beam: int | None = None) -> dict[str, Any]:
        """Return all scores, see `marginloom.tasks.parse.metrics.parse_scores`; `beam` is as for `predict`."""
        self._check_fitted()
        model: ParseModel = self.model_.with_beam(beam)
        return model.scores(Treebank.from_lists(X, y, checked_columns(self.columns)), self.n_threads)

    @classmethod
    def _own_parameters(cls, model: ParseModel) -> dict[str, Any]:
        features, options = model.features, model.options
        search = {} if options.search is None else dataclasses.asdict(options.search)
        return {
            "method": options.method,
            **search,
            "order": options.order,
            "projective": options.projective,
            "labelled": model.labels is not None,
            **({} if model.labels is None else {"label_stage": model.label_stage}),
            "roots": options.roots,
            "pos_column": features.columns.portable("pos", features.pos_column, model.settings),
            **{name: getattr(features, name) for name in ("hash_bits", "xpos", "feats")},
            "columns": checked_columns(model.settings.get("columns")),
            "features": features.name,
            **{
                name: model.settings[name]
                for name in ("invalid_gold", "min_count", "feature_cache", "label_cost", "label_trees")
                if name in model.settings
            },
        }
