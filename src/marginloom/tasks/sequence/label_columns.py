"""The column of a file that holds the labels: what it is called, and where other files have it."""

from __future__ import annotations

from marginloom.errors import InputError
from marginloom.features import ExtractedFeatures, FeatureSet
from marginloom.io.columns import columns_of_format
from marginloom.io.conll import ColumnCorpus
from marginloom.io.corpus import Corpus
from marginloom.tasks.sequence.model import SequenceModel


def label_name(corpus: Corpus, column: int) -> dict[str, str]:
    """Return what the labels' column is called, for the model; nothing where columns have numbers."""
    names = corpus.columns.names if isinstance(corpus, ColumnCorpus) else ()
    return {"label_name": names[column]} if names else {}


def same_column(corpus: Corpus, column: int) -> int | str:
    """Return the column of other files that is the same as one of `corpus`: by its name, or else its number."""
    return label_name(corpus, column).get("label_name", column + 1)


def label_column_of(tagger: SequenceModel, corpus: Corpus) -> int | str | None:
    """Return the column in which labels are, as in training: by name, or by number; None for the format's default."""
    settings = tagger.settings
    column, trained = settings.get("label_column"), settings.get("format")
    if not isinstance(corpus, ColumnCorpus) or not isinstance(column, int) or column < 1:
        return None
    if not corpus.columns.names:
        return column if corpus.format == trained else None
    names = columns_of_format(str(trained), settings.get("column_names", ()))  # of versions that knew no names
    name = settings.get("label_name", names[column - 1] if column <= len(names) else None)
    return name if isinstance(name, str) else None


def refuse_labels_as_features(features: FeatureSet, corpus: Corpus, column: int) -> None:
    """Raise `InputError` if features read the gold labels, which prediction does not have."""
    if not isinstance(features, ExtractedFeatures) or not isinstance(corpus, ColumnCorpus):
        return
    for reference, place in features.columns.places(corpus.columns).items():
        if place == column:
            raise InputError(
                f"column {column + 1} holds the labels, and {features.columns.reader(reference)}: a model of that "
                "learns nothing for files without labels; name another column with --column"
            )
