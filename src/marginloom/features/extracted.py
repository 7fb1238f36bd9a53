"""Features that are extracted from columns by templates: the named sets and the user's own."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.memory import require_memory
from marginloom.common.parameters import checked
from marginloom.common.vocabularies import load_vocabulary, vocabulary_tensors
from marginloom.errors import InputError
from marginloom.features.base import Encoded, drop_unknown, keep_frequent
from marginloom.features.columns import ColumnsRead, written_columns
from marginloom.features.crfpp import CRFPP, templates_of_crfpp
from marginloom.features.morphology import check_feats
from marginloom.features.sets import FEATURE_SETS, templates_of
from marginloom.features.template_lines import check_given, template_lines
from marginloom.features.word_lists import Lists
from marginloom.io.columns import Columns, NamedRows, checked_column
from marginloom.io.conll import ColumnCorpus
from marginloom.io.files import StrPath, decode_utf8, read_bytes
from marginloom.io.model import json_text, parse_json
from marginloom.io.names import quoted, shown

_SEPARATOR = "\x1f"
_LABELS = re.compile(r"label\[[+-]?\d+\] ?")


class ExtractedFeatures:
    """Indicators by templates, see docs/features.md.

    Parameters
    ----------
    name : str
        A named set (``words``, ``tagging``, ``chunking``, ``ner``, ``ner-observed``, ...), or a file of templates.
    min_count : int
        Features seen less often in training are left out.
    hash_bits : int, optional
        Number features by a hash of so many bits instead of keeping a vocabulary.
    pos_column : int or str, optional
        Column of the parts of speech: its number in the training input, from 1, or its name.
    lists : Lists, optional
        Word clusters and gazetteers.
    n_threads : int
        Threads for the extraction.

    Examples
    --------
    >>> words = ExtractedFeatures("words")
    >>> words.fit([["the", "end"], ["the"]]).features.tolist()
    [0, 1, 0]
    """

    kind = "extracted"

    def __init__(
        self,
        name: StrPath,
        *,
        min_count: int = 1,
        hash_bits: int | None = None,
        pos_column: int | str | None = None,
        lists: Lists | None = None,
        n_threads: int = 1,
    ) -> None:
        check_feature_set(name)
        self.name = shown(name)
        self.min_count = min_count
        self.hash_bits = hash_bits
        self.pos_column = checked_column("pos_column", pos_column)
        self.n_threads = n_threads
        self._lists = lists or Lists()
        self._templates = self._find_templates(name)
        self._vocabulary = _core.Vocabulary()
        self._observed = _core.Vocabulary()
        self._settle()
        given = {"pos": pos_column, "cluster": self._lists.cluster_paths, "gazetteer": self._lists.gazetteers}
        check_given(self._lines, {"feats", *(kind for kind, there in given.items() if there)})

    def _settle(self) -> None:
        """Parse the templates, and see what they read."""
        self._lines = template_lines(self.name, self._templates, is_file=self.name not in FEATURE_SETS)
        self.columns = ColumnsRead(self._lines, {"pos": self.pos_column})
        self._of_tokens = [line for line in self._lines if line.reach is None]
        #: The templates that read labels before the token.
        self.of_histories = [line for line in self._lines if line.reach is not None]
        self._extractors: dict[tuple[bool, tuple[int, ...]], _core.Extractor] = {}

    def _find_templates(self, name: StrPath) -> str:
        if self.name in FEATURE_SETS:
            return templates_of(
                self.name,
                with_pos=self.pos_column is not None,
                with_clusters=bool(self._lists.cluster_paths),
                with_gazetteers=bool(self._lists.gazetteers),
            )
        text = decode_utf8(read_bytes(name), self.name)
        return templates_of_crfpp(text, self.name) if self.name.endswith(CRFPP) else text

    def _extractor(self, places: Mapping[str, int], with_labels: bool = False) -> _core.Extractor:
        """Return the native extractor for sources that have what templates read in these places."""
        key = with_labels, tuple(places.values())
        if key not in self._extractors:
            self._extractors[key] = _core.Extractor(
                self._templates,
                with_labels,
                places.get("word", 0),
                places.get("pos"),
                written_columns(places),
                self._lists.cluster_words,
                list(self._lists.cluster_paths),
                list(self._lists.gazetteers.items()),
            )
        return self._extractors[key]

    def fit(self, source: Any) -> Encoded:
        """Learn the features and encode the training sentences."""
        tables, columns = _tables(source)
        if columns.count:
            self.columns.learn(columns)
        check_feats(self._lines, self.columns, source, learn=True)
        sentences, tokens, features = self._extract(tables, columns, learn=self.hash_bits is None)
        if self.hash_bits is None:
            self._vocabulary, features = keep_frequent(self._vocabulary, features, self.min_count)
            tokens, features, _ = drop_unknown(tokens, features, None)
        encoded = Encoded(sentences, tokens, features, None, self.feature_count)
        if not self.of_histories:
            return encoded
        offsets, observations = self._extract(tables, columns, learn=True, with_labels=True)[1:]
        self._observed, observations = keep_frequent(self._observed, observations, self.min_count)
        offsets, observations, _ = drop_unknown(offsets, observations, None)
        return dataclasses.replace(encoded, observation_offsets=offsets, observations=observations)

    def transform(self, source: Any) -> Encoded:
        """Encode other sentences; features that training did not see are left out."""
        tables, columns = _tables(source)
        check_feats(self._lines, self.columns, source, learn=False)
        sentences, tokens, features = self._extract(tables, columns, learn=False)
        encoded = Encoded(sentences, tokens, features, None, self.feature_count)
        if not self.of_histories:
            return encoded
        offsets, observations = self._extract(tables, columns, learn=False, with_labels=True)[1:]
        return dataclasses.replace(encoded, observation_offsets=offsets, observations=observations)

    @property
    def observation_count(self) -> int:
        """Number of observations that templates join with labels before a token."""
        return len(self._observed)

    @property
    def reaches(self) -> NDArray[np.uint8]:
        """For every observation the labels that its template reads, as `TemplateLine.reach` says."""
        names = (self._observed.name(number) for number in range(len(self._observed)))
        lines = (self.of_histories[int(name.partition(":")[0])] for name in names)
        return np.fromiter((line.reach for line in lines), dtype=np.uint8, count=len(self._observed))

    def uses(self, atom: str) -> bool:
        """Tell whether a template has an atom of this kind, such as ``pos``."""
        return any(atom in line.kinds for line in self._lines)

    @property
    def feature_count(self) -> int:
        """Number of features."""
        return len(self._vocabulary) if self.hash_bits is None else 1 << self.hash_bits

    def _extract(
        self, tables: Sequence[_core.TokenColumns], columns: Columns, *, learn: bool, with_labels: bool = False
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint32]]:
        extractor = self._extractor(self.columns.places(columns), with_labels)
        self._require_memory(sum(int(table.sentences()[-1]) for table in tables))
        vocabulary = self._observed if with_labels else None if self.hash_bits is not None else self._vocabulary
        rows = [self._rows(table, extractor, vocabulary, learn) for table in tables]
        if len(rows) == 1:
            return rows[0].sentences, rows[0].tokens, rows[0].features
        sentences, tokens, features = [np.zeros(1, np.uint64)], [np.zeros(1, np.uint64)], [np.zeros(0, np.uint32)]
        for part in rows:
            sentences.append(part.sentences[1:] + sentences[-1][-1])
            tokens.append(part.tokens[1:] + tokens[-1][-1])
            features.append(part.features)
        return np.concatenate(sentences), np.concatenate(tokens), np.concatenate(features)

    def _rows(
        self, table: _core.TokenColumns, extractor: _core.Extractor, vocabulary: _core.Vocabulary | None, learn: bool
    ) -> _core.TokenRows:
        try:
            if vocabulary is None:
                assert self.hash_bits is not None
                return extractor.hash(table, self.hash_bits, self.n_threads)
            if learn:
                return extractor.learn(table, vocabulary, self.n_threads)
            return extractor.encode(table, vocabulary, self.n_threads)
        except ValueError as error:
            raise InputError(f"{getattr(table, 'name', 'X')}: {error}") from error

    def _require_memory(self, tokens: int) -> None:
        """Compare a feature of every token and template, held twice while tables are joined, with what there is."""
        templates = len(self._lines)
        require_memory(
            f"extracting the features of {tokens:,} tokens by {templates} templates",
            {"features": 2 * 4 * tokens * templates},
            "take a smaller set of features, or fewer sentences at a time",
        )

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return everything that extraction needs as arrays."""
        options = {
            "name": self.name,
            "templates": self._templates,
            "min_count": self.min_count,
            "hash_bits": self.hash_bits,
            "pos_column": self.pos_column,
            **self.columns.options(),
            **self._lists.options(),
        }
        tensors = {"features_options": np.frombuffer(json_text(options).encode(), dtype=np.uint8)}
        if self.of_histories:
            tensors |= vocabulary_tensors(self._observed, "observations")
        return tensors | vocabulary_tensors(self._vocabulary, "features") | self._lists.tensors()

    @classmethod
    def load(
        cls, tensors: dict[str, NDArray[Any]], settings: Mapping[str, Any] = MappingProxyType({})
    ) -> ExtractedFeatures:
        """Make the feature set from its arrays; `settings` are those of the model."""
        options = parse_json(tensors["features_options"].tobytes())
        features = cls.__new__(cls)
        features.name = str(options["name"])
        features.min_count = checked("min_count", options["min_count"], "positive count")
        features.hash_bits = _checked_or_none("hash_bits", options["hash_bits"], "hash bits")
        features.pos_column = checked_column("pos_column", options["pos_column"])
        features.n_threads = 1
        features._lists = Lists.load(options, tensors)
        features._templates = str(options["templates"])
        features._vocabulary = load_vocabulary(tensors, "features")
        features._observed = _core.Vocabulary()
        features._settle()
        if features.of_histories:
            features._observed = load_vocabulary(tensors, "observations")
        features.columns.load(options, settings)
        features._extractor(features.columns.places(Columns("X", 0)))  # says if something does not fit together
        return features

    def hashed_names(self, source: Any) -> list[str] | None:
        """Return the names of all features of all tokens in a row, as `transform` has them; None unless hashed."""
        if self.hash_bits is None:
            return None
        tables, columns = _tables(source)
        extractor, vocabulary = self._extractor(self.columns.places(columns)), _core.Vocabulary()
        numbers = [self._rows(table, extractor, vocabulary, True).features for table in tables]
        templates = [line.text for line in self._of_tokens]
        names = [_described(vocabulary.name(number), templates) for number in range(len(vocabulary))]
        return [names[number] for number in np.concatenate(numbers).tolist()]

    def describe(self, feature: int) -> str:
        """Name a feature."""
        if self.hash_bits is not None:
            return f"hash {feature}"
        return _described(self._vocabulary.name(feature), [line.text for line in self._of_tokens])

    def describe_observation(self, observation: int) -> str:
        """Name an observation, without the labels of its template."""
        observed = [_LABELS.sub("", line.text).strip() for line in self.of_histories]
        return _described(self._observed.name(observation), observed)


def _described(name: str, templates: Sequence[str]) -> str:
    number, _, values = name.partition(":")
    if not (number.isascii() and number.isdigit() and int(number) < len(templates)):
        return f"{name!r}, which no template makes"  # of a file that was not written by `save`
    template = templates[int(number)]
    return template if template == "bias" else f"{template}={values.replace(_SEPARATOR, ' ')}"


def _checked_or_none(name: str, value: Any, kind: str) -> Any:
    return None if value is None else checked(name, value, kind)


def check_feature_set(name: StrPath) -> None:
    """Raise `InputError` unless there is a feature set or a file of that name."""
    if not isinstance(name, (str, os.PathLike)) or (name not in FEATURE_SETS and not is_there(name)):
        raise InputError(
            f"there is no feature set {quoted(name)}, nor a file of that name; the sets are: {', '.join(FEATURE_SETS)}"
        )


def is_there(path: StrPath) -> bool:
    """Tell whether there is a file of that name.

    Examples
    --------
    >>> is_there("no/such/file")
    False
    """
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # too long, or not a name at all
        return False


def _tables(source: Any) -> tuple[Sequence[_core.TokenColumns], Columns]:
    if isinstance(source, ColumnCorpus):
        return source.tables, source.columns
    rows = source if isinstance(source, NamedRows) else NamedRows(source)
    try:
        table = _core.RowTable(rows)
    except (TypeError, ValueError) as error:
        raise InputError(f"X: {error}") from error
    return [table], rows.columns
