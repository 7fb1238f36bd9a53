"""Features of spans and of pairs of spans, by templates: the named set and the user's own."""

from __future__ import annotations

import os
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.memory import require_memory
from marginloom.common.parameters import checked
from marginloom.common.vocabularies import load_vocabulary, vocabulary_tensors
from marginloom.errors import InputError, InputWarning
from marginloom.features import Lists
from marginloom.features.base import drop_unknown, keep_frequent
from marginloom.features.extracted import is_there
from marginloom.features.morphology import check_names, names_in
from marginloom.features.template_lines import READS_FEATS, check_given, template_lines
from marginloom.io.files import StrPath, decode_utf8, read_bytes
from marginloom.io.model import json_text, parse_json
from marginloom.io.names import quoted, shown
from marginloom.tasks.relations.feature_sets import FEATURE_SETS, templates_of
from marginloom.tasks.relations.sentences import Corpus

_SEPARATOR = "\x1f"
#: What rows of features are of, with the name of their vocabulary in files.
KINDS = ("spans", "pairs")


class FeatureRows(NamedTuple):
    """Sparse rows of indicators: row r has the features rows[r] to rows[r + 1] - 1."""

    rows: NDArray[np.uint64]
    features: NDArray[np.uint32]


class EncodedSpans(NamedTuple):
    """The features of the spans of sentences, and of the ordered pairs of each sentence's spans."""

    sentences: NDArray[np.uint64]
    spans: FeatureRows
    pairs: FeatureRows


class SpanFeatureSet:
    """Features of spans by templates, see docs/relations.md.

    Parameters
    ----------
    name : str or path-like
        The named set ``spans``, or a file of templates.
    hash_bits : int, optional
        Number features by so many bits of a hash, spans and pairs apart, instead of keeping vocabularies.
    min_count : int
        Features seen less often in training are left out.
    lists : Lists, optional
        Word clusters and gazetteers that templates can look up.
    n_threads : int
        Threads for the extraction.

    Examples
    --------
    >>> from marginloom.tasks.relations.records import checked_sentences
    >>> corpus = checked_sentences([{"tokens": ["Ann", "ran"], "entities": [{"start": 0, "end": 1}]}])
    >>> encoded = SpanFeatureSet().fit(corpus)
    >>> encoded.spans.rows.size, encoded.pairs.rows.size
    (2, 1)
    """

    def __init__(
        self,
        name: StrPath = "spans",
        *,
        hash_bits: int | None = None,
        min_count: int = 1,
        lists: Lists | None = None,
        n_threads: int = 1,
    ) -> None:
        if not isinstance(name, (str, os.PathLike)) or (name not in FEATURE_SETS and not is_there(name)):
            raise InputError(
                f"there is no feature set {quoted(name)} for spans, nor a file of that name; the sets are: "
                f"{', '.join(FEATURE_SETS)}"
            )
        if hash_bits is not None and min_count > 1:
            raise InputError(
                f"with hash_bits no feature is counted, so min_count cannot be {min_count}: leave out one of them"
            )
        self.name, self.hash_bits, self.min_count, self.n_threads = shown(name), hash_bits, min_count, n_threads
        self._lists = lists or Lists()
        is_file = self.name not in FEATURE_SETS
        self._written = decode_utf8(read_bytes(name), self.name) if is_file else ""
        self.reads_pos = self.reads_feats = False
        self._vocabularies = [_core.Vocabulary(), _core.Vocabulary()]
        self._templates = ""
        self._extractor: _core.SpanExtractor | None = None
        if is_file:
            self._settle(self._written)

    def _settle(self, templates: str) -> None:
        """Take templates, and see what they read."""
        self._templates = templates
        self._lines = template_lines(self.name, templates, is_file=self.name not in FEATURE_SETS, about="spans")
        self.reads_pos = any("pos" in line.columns for line in self._lines)
        self.reads_feats = any(READS_FEATS in line.columns for line in self._lines)
        self._extractor = _core.SpanExtractor(
            templates,
            0,
            1 if self.reads_pos else None,
            1 + self.reads_pos if self.reads_feats else None,
            self._lists.cluster_words,
            list(self._lists.cluster_paths),
            list(self._lists.gazetteers.items()),
        )

    def _choose_templates(self, corpus: Corpus) -> None:
        """Take the templates of the set for which there is everything, or all of a file."""
        given = {"cluster": self._lists.cluster_paths, "gazetteer": self._lists.gazetteers}
        if self.name in FEATURE_SETS:
            _warn_of_few_tags(corpus)
            self._settle(
                templates_of(
                    self.name,
                    with_pos=corpus.has_pos,
                    with_clusters=bool(self._lists.cluster_paths),
                    with_gazetteers=bool(self._lists.gazetteers),
                )
            )
            return
        for kind, example in ((False, "one span, such as word[first]"), (True, "pairs, such as order")):
            if not any(_is_about_pairs(line.text) == kind for line in self._lines):
                raise InputError(f"{self.name}: found no template about {example}; add one")
        check_given(self._lines, {"pos", "feats", *(kind for kind, there in given.items() if there)})
        used = {kind for line in self._lines for kind in line.kinds}
        for atom in (name for name, there in given.items() if there and name not in used):
            text = f"the features {self.name} have no template with {atom}[...]: what was given for it is not used"
            warnings.warn(InputWarning(text), stacklevel=4)

    def fit(self, corpus: Corpus) -> EncodedSpans:
        """Learn the features and encode the training sentences."""
        self._choose_templates(corpus)
        if self.reads_feats:
            check_names(self._lines, corpus.rows(self.reads_pos, True), 1 + self.reads_pos)
        if self.hash_bits is not None:
            return self.transform(corpus)
        rows = []
        for kind in range(len(KINDS)):
            found, features = self._extract(corpus, kind, learn=True)
            self._vocabularies[kind], features = keep_frequent(self._vocabularies[kind], features, self.min_count)
            rows.append(FeatureRows(*drop_unknown(found, features, None)[:2]))
        if not any(self.counts.values()):
            raise InputError(f"min_count={self.min_count} leaves no feature; give a smaller one (--min-count)")
        return EncodedSpans(corpus.spans.offsets, *rows)

    def transform(self, corpus: Corpus) -> EncodedSpans:
        """Encode other sentences; features that training did not see are left out."""
        if self.reads_feats:
            names_in(corpus.rows(self.reads_pos, True), 1 + self.reads_pos)
        return EncodedSpans(
            corpus.spans.offsets,
            *(FeatureRows(*self._extract(corpus, kind, learn=False)) for kind in range(len(KINDS))),
        )

    def _extract(self, corpus: Corpus, kind: int, learn: bool) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
        assert self._extractor is not None
        count = int(corpus.pair_offsets[-1] if kind else corpus.spans.offsets[-1])
        require_memory(
            f"extracting the features of {count:,} {KINDS[kind]}",
            {"features": 2 * 4 * count * len(self._lines)},
            "take a smaller set of features, or fewer sentences at a time",
        )
        table, spans = _core.RowTable(corpus.rows(self.reads_pos, self.reads_feats)), corpus.spans.core
        arguments = bool(kind), table, spans
        if learn:
            return self._extractor.learn(*arguments, self._vocabularies[kind], self.n_threads)
        if self.hash_bits is not None:
            return self._extractor.hash(*arguments, self.hash_bits, self.n_threads)
        return self._extractor.encode(*arguments, self._vocabularies[kind], self.n_threads)

    @property
    def counts(self) -> dict[str, int]:
        """Number of features of spans, and of pairs."""
        if self.hash_bits is not None:
            return dict.fromkeys(KINDS, 1 << self.hash_bits)
        return dict(zip(KINDS, map(len, self._vocabularies), strict=True))

    def describe(self, kind: int, feature: int) -> str:
        """Name a feature."""
        if self.hash_bits is not None:
            return f"hash {feature}"
        name = self._vocabularies[kind].name(feature)
        number, _, values = name.partition(":")
        if not (number.isascii() and number.isdigit() and int(number) < len(self._lines)):
            return f"{name!r}, which no template makes"  # of a file that was not written by `save`
        template = self._lines[int(number)].text
        return template if template in ("bias", "pair") else f"{template}={values.replace(_SEPARATOR, ' ')}"

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return everything that extraction needs as arrays."""
        options = {
            "name": self.name,
            "hash_bits": self.hash_bits,
            "min_count": self.min_count,
            "templates": self._templates,
            **self._lists.options(),
        }
        tensors = {"features_options": np.frombuffer(json_text(options).encode(), dtype=np.uint8)}
        for kind, vocabulary in zip(KINDS, self._vocabularies, strict=True):
            tensors |= vocabulary_tensors(vocabulary, f"features_{kind}")
        return tensors | self._lists.tensors()

    @classmethod
    def load(cls, tensors: dict[str, NDArray[Any]]) -> SpanFeatureSet:
        """Make the feature set from its arrays."""
        options = parse_json(tensors["features_options"].tobytes())
        features = cls.__new__(cls)
        features.name = str(options["name"])
        bits = options["hash_bits"]
        features.hash_bits = None if bits is None else checked("hash_bits", bits, "hash bits")
        features.min_count = checked("min_count", options["min_count"], "positive count")
        features.n_threads = 1
        features._written = ""
        features._lists = Lists.load(options, tensors)
        features._vocabularies = [load_vocabulary(tensors, f"features_{kind}") for kind in KINDS]
        features._settle(str(options["templates"]))
        return features


def _warn_of_few_tags(corpus: Corpus) -> None:
    """Warn if some sentences have tags, which are not used since others have none."""
    tagged = [one.pos is not None for one in corpus.sentences if one.tokens]
    if any(tagged) and not all(tagged):
        text = (
            f"{tagged.count(False):,} of {len(tagged):,} sentences have no field 'pos', so that no tags are used; give "
            "the tags of all sentences, or of none"
        )
        warnings.warn(InputWarning(text), stacklevel=5)


def _is_about_pairs(template: str) -> bool:
    """Tell what a template is about, as the native part does."""
    places = ("[head.", "[tail.", "[left.", "[right.", "[between.")
    return any(
        atom in ("pair", "order", "distance", "entities") or any(map(atom.__contains__, places))
        for atom in template.split()
    )
