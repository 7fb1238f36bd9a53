"""The data sets of scaling.py: part-of-speech tags from words alone and from rich features, and named entities."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

from learners_data import DataSet, Sequences, entities, read_conll

from marginloom.features import ExtractedFeatures


@cache
def _corpus(path: Path, label: int) -> Sequences:
    return read_conll(path, (0,), label)


def _tags(folder: Path, corpus: str, label: int, feature_set: str, name: str) -> DataSet:
    train, test = (_corpus(folder / corpus / f"{part}.conll.xz", label) for part in ("train", "test"))
    return DataSet(name, "accuracy", lambda: ExtractedFeatures(feature_set), None, train, None, test)


#: Most important first.
DATA_SETS: dict[str, Callable[[Path], DataSet]] = {
    "conll2000-words": lambda folder: _tags(folder, "conll2000_chunking", 1, "words", "conll2000-words"),
    "conll2000-tagging": lambda folder: _tags(folder, "conll2000_chunking", 1, "tagging", "conll2000-tagging"),
    "brown-words": lambda folder: _tags(folder, "brown_pos", 2, "words", "brown-words"),
    "conll2003_en": lambda folder: entities(folder, "conll2003_en", 3, "bio"),
    "brown-tagging": lambda folder: _tags(folder, "brown_pos", 2, "tagging", "brown-tagging"),
}
