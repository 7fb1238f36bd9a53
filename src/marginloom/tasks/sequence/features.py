"""From what users give, in Python or in files, to sentences with features and labels."""

from __future__ import annotations

import dataclasses
import itertools
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marginloom.common.threads import resolve_threads
from marginloom.errors import InputError, InputWarning
from marginloom.features import ExtractedFeatures, FeatureSet, Lists, MatrixFeatures, NamedFeatures
from marginloom.io.columns import NamedRows
from marginloom.io.corpus import Corpus
from marginloom.io.files import StrPath
from marginloom.io.libsvm_sequences import LibsvmCorpus
from marginloom.labels.numbered import NumberedLabels


@dataclasses.dataclass(frozen=True)
class LabelledSentences:
    """Sentences with the right labels of their tokens, all in a row; those of a stream come as it is read."""

    source: Any
    labels: Iterable[Any] | NumberedLabels
    #: Of the sentences; None if all are 1.
    weights: NDArray[np.float64] | None = None

    @classmethod
    def from_corpus(cls, corpus: Corpus, column: int, strings: bool | None = None) -> LabelledSentences:
        """Take the labels from a column of files, as strings or as whole numbers, or as the format has them."""
        return cls(corpus, corpus.labels(column, strings), corpus.weights)

    def with_columns(self, columns: tuple[str, ...] | None) -> LabelledSentences:
        """Return the same with names for the columns of words."""
        return dataclasses.replace(self, source=named(self.source, columns))


#: Stands for `FOR_WORDS` where tokens are strings, and for ready features where they are not.
AUTO = "auto"
FOR_WORDS = "rich"


def new_features(
    features: str | None,
    source: Any,
    *,
    min_count: int = 1,
    hash_bits: int | None = None,
    pos_column: int | str | None = None,
    columns: tuple[str, ...] | None = None,
    clusters: StrPath | None = None,
    gazetteers: Mapping[str, StrPath] | None = None,
    n_threads: int | None = 1,
) -> FeatureSet:
    """Return a feature set that has learnt nothing yet: extracted by name, or ready ones of the kind that there are.

    Options of extraction, and names of columns, are refused where features are ready.

    Examples
    --------
    >>> new_features("words", [["the", "dog"]]).name, new_features(None, [[["w=the"]]]).name
    ('words', 'named')
    """
    chosen = kind_of_features(features, source)
    if chosen is not None:
        if hash_bits is not None and min_count > 1:
            raise InputError(
                f"with hash_bits no feature is counted, so min_count cannot be {min_count}: leave out one of them"
            )
        extracted = ExtractedFeatures(
            chosen,
            min_count=min_count,
            hash_bits=hash_bits,
            pos_column=pos_column,
            lists=Lists.read(clusters, gazetteers),
            n_threads=resolve_threads(n_threads),
        )
        _warn_of_unused(extracted, {"pos": pos_column, "cluster": clusters, "gazetteer": gazetteers or None})
        return extracted
    is_rows = isinstance(source, (tuple, LibsvmCorpus)) or (
        isinstance(source, list) and source and is_matrix(source[0])
    )
    unused = {
        "hash_bits": hash_bits,
        "pos_column": pos_column,
        "columns": columns,
        "clusters": clusters,
        "gazetteers": gazetteers or None,
    }
    if is_rows and min_count > 1:
        unused["min_count"] = min_count
    for name, value in unused.items():
        if value is not None:
            raise InputError(f"{name} is for features that are extracted from words, and these are ready: leave it out")
    return MatrixFeatures() if is_rows else NamedFeatures(min_count)


def _warn_of_unused(features: ExtractedFeatures, given: Mapping[str, Any]) -> None:
    """Warn of what was given for atoms that no template has."""
    atoms = {"pos": "pos_column", "cluster": "clusters", "gazetteer": "gazetteers"}
    for atom, value in given.items():
        if value is not None and not features.uses(atom):
            text = f"the features {features.name} have no template with {atom}[...]: {atoms[atom]} is not used"
            warnings.warn(InputWarning(text), stacklevel=2)


def kind_of_features(features: str | None, source: Any) -> str | None:
    """Return the feature set that is meant, None for ready features; ``"auto"`` goes by the first token.

    Examples
    --------
    >>> kind_of_features("auto", [["the", "dog"]]), kind_of_features("auto", [[{"w": "the"}]])
    ('rich', None)
    """
    if features != AUTO:
        return features
    sentences = source if isinstance(source, list) else []
    for i, sentence in enumerate(sentences):
        _refuse_string(sentence, i)
        if is_matrix(sentence):
            return None
        for token in sentence:
            return FOR_WORDS if isinstance(token, str) else None
    return None


def is_matrix(thing: Any) -> bool:
    """Tell whether something is a matrix of numbers, sparse or dense."""
    return hasattr(thing, "tocsr") or (isinstance(thing, np.ndarray) and thing.dtype != object)


def source_of(X: Any, lengths: ArrayLike | None) -> Any:
    """Return a list of sentences, or a matrix with lengths."""
    if lengths is not None:
        return X, lengths
    if is_matrix(X) and getattr(X, "ndim", 2) == 2:
        raise InputError("X is one matrix, so lengths= must say how long its sentences are")
    return _as_list(X, "X must be a list of sentences")


def named(source: Any, columns: tuple[str, ...] | None) -> Any:
    """Return sentences with names for the columns of their words, if there are some."""
    return source if columns is None or not isinstance(source, list) else NamedRows(source, columns)


def _refuse_string(sentence: Any, place: int) -> None:
    if isinstance(sentence, (str, bytes)):
        raise InputError(f"sentence {place} is a string, {sentence[:40]!r}, and must be a list of tokens: split it")


def _as_list(items: Any, wanted: str) -> list[Any]:
    if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
        raise InputError(f"{wanted}, not {items!r}"[:300])
    return list(items)


def labelled_sentences(X: Any, y: Any, lengths: ArrayLike | None = None) -> LabelledSentences:
    """Pair sentences with their labels, as users give them in Python."""
    source = source_of(X, lengths)
    if lengths is not None:
        return LabelledSentences(source, y if isinstance(y, np.ndarray) else _as_list(y, "y must be a list of labels"))
    sequences = _as_list(y, "y must be a list with the labels of each sentence")
    if len(source) != len(sequences):
        raise InputError(f"X has {len(source)} sentences, and y has {len(sequences)}")
    flat: list[Any] = []
    for i, (sentence, labels) in enumerate(zip(source, sequences, strict=True)):
        _refuse_string(sentence, i)
        tokens = (
            sentence.shape[0] if hasattr(sentence, "shape") else len(_as_list(sentence, f"sentence {i} must be a list"))
        )
        labels = (
            labels.tolist() if isinstance(labels, np.ndarray) else _as_list(labels, f"y[{i}] must be a list of labels")
        )
        if len(labels) != tokens:
            raise InputError(f"sentence {i} has {tokens} tokens and {len(labels)} labels")
        flat.extend(labels)
    return LabelledSentences(source, flat)


def labelled_stream(X: Iterator[Any], y: Any) -> LabelledSentences:
    """Pair sentences with their labels as they come; the labels are complete when the sentences have been read."""
    if isinstance(y, (str, bytes, Mapping)) or not isinstance(y, Iterable):
        raise InputError(f"y must be an iterable with the labels of each sentence, not {y!r}"[:300])
    flat: list[Any] = []

    def sentences() -> Iterator[Any]:
        labels_of_all = iter(y)
        for i, sentence in enumerate(X):
            labels = next(labels_of_all, None)
            if labels is None:
                raise InputError(f"X has more sentences than y, which has {i}")
            tokens = _as_list(sentence, f"sentence {i} must be a list")
            labels = _as_list(labels, f"y[{i}] must be a list of labels")
            if len(labels) != len(tokens):
                raise InputError(f"sentence {i} has {len(tokens)} tokens and {len(labels)} labels")
            flat.extend(labels)
            yield tokens
        if next(labels_of_all, None) is not None:
            raise InputError("y has more sentences than X")

    return LabelledSentences(sentences(), flat)


def training_sentences(features: str | None, X: Any, y: Any, lengths: ArrayLike | None = None) -> LabelledSentences:
    """Pair what `fit` was given; an iterator over sentences with ready features is left to be read as it is encoded."""
    if lengths is None and isinstance(X, Iterator) and features in (None, AUTO):
        first = list(itertools.islice(X, 1))
        X = itertools.chain(first, X)
        if kind_of_features(features, first) is None:
            return labelled_stream(X, y)
    return labelled_sentences(X, y, lengths)


def evaluation_set(given: Any) -> LabelledSentences:
    """Return what `fit` was given to score on."""
    if not isinstance(given, (tuple, list)) or len(given) not in (2, 3):
        raise InputError("eval_set must be a tuple (X, y), or (X, y, lengths) with matrices")
    return labelled_sentences(*given)
