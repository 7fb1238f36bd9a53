"""From sentences to what templates of arcs see in their words, and how features of arcs are numbered."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.errors import InputError, InputWarning
from marginloom.features import Lists
from marginloom.features.base import load_vocabulary, vocabulary_tensors
from marginloom.features.extracted import COLUMN, is_there
from marginloom.io.conll import ColumnCorpus
from marginloom.io.files import StrPath, decode_utf8, read_bytes
from marginloom.io.model import json_text, parse_json
from marginloom.io.names import quoted, shown
from marginloom.parameters import checked
from marginloom.tasks.parse.feature_sets import FEATURE_SETS, fitting_templates, templates_of
from marginloom.tasks.parse.gold import FittingTrees
from marginloom.tasks.parse.sentences import lengths_of

#: Stands for bits that fit the number of words where nothing is counted, and for a vocabulary where features are.
AUTO = "auto"
#: At most.
HASH_BITS = 22
#: What stands in CoNLL-U where there is nothing.
MISSING = "_"
#: Kinds of features, as the native part numbers them.
KINDS = ("arcs", "siblings", "labels")


class ArcFeatureSet:
    """Features of arcs by templates, see docs/parsing.md.

    Parameters
    ----------
    name : str or path-like
        The named set ``arcs``, or a file of templates.
    order : int
        2 for features of siblings too.
    labelled : bool
        Whether arcs have labels, and features for them.
    hash_bits : int, "auto" or None
        Number features by so many bits of a hash; None keeps a vocabulary of those of right arcs only.
        ``"auto"`` means 14 to 22 bits by the number of words, unless `min_count` asks for a vocabulary.
    min_count : int
        Features of a vocabulary seen less often in training are left out.
    pos_column : int, optional
        Column of files, from 1, with the parts of speech; by default UPOS.
    xpos : bool
        Whether to use the other part of speech too: XPOS, or the third part of words from Python.
    lists : Lists, optional
        Word clusters and gazetteers that templates can look up.
    n_threads : int
        Threads that look at words.

    Raises
    ------
    InputError
        If there is no such set or file, a template is wrong, or the options do not go together.

    Examples
    --------
    >>> features = ArcFeatureSet("arcs", order=1, hash_bits=8)
    >>> features.values([[("dogs", "NOUN"), ("bark", "VERB")]]).shape[0]
    2
    """

    def __init__(
        self,
        name: StrPath = "arcs",
        *,
        order: int = 1,
        labelled: bool = True,
        hash_bits: int | str | None = AUTO,
        min_count: int = 1,
        pos_column: int | None = None,
        xpos: bool = False,
        lists: Lists | None = None,
        n_threads: int = 1,
    ) -> None:
        if not isinstance(name, (str, os.PathLike)) or (name not in FEATURE_SETS and not is_there(name)):
            raise InputError(
                f"there is no feature set {quoted(name)} for arcs, nor a file of that name; the sets are: "
                f"{', '.join(FEATURE_SETS)}"
            )
        if hash_bits not in (AUTO, None) and min_count > 1:
            raise InputError(
                f"with hash_bits no feature is counted, so min_count cannot be {min_count}: leave out one of them "
                "(hash_bits=None, --hash-bits 0 keeps a vocabulary)"
            )
        self.name, self.order, self.min_count = shown(name), order, min_count
        self._chooses_bits = hash_bits == AUTO and min_count == 1
        self.hash_bits: int | None = None
        if hash_bits not in (AUTO, None):
            self.hash_bits = checked("hash_bits", hash_bits, "hash bits")
        self.labelled, self.pos_column, self.xpos, self.n_threads = labelled, pos_column, xpos, n_threads
        self._lists = lists or Lists()
        self._templates = self._find_templates(name)
        self.label_count = 0
        self._constants: list[str] = []
        self._vocabularies: Sequence[_core.Vocabulary] = ()
        self._core: _core.ArcFeatures | None = None
        self._extractors: dict[tuple[int, ...], _core.ArcExtractor] = {}
        self._extractor((0, 1, 2))

    def _find_templates(self, name: StrPath) -> str:
        if self.name in FEATURE_SETS:
            clusters = bool(self._lists.cluster_paths)
            return templates_of(self.name, with_xpos=self.xpos, with_clusters=clusters)
        text = decode_utf8(read_bytes(name), self.name)
        self._made(text, (0, 1, 2))  # says what is wrong, also in lines that are left out
        if not fitting_templates(text, order=self.order, labelled=self.labelled).strip():
            raise InputError(
                f"{self.name} has templates of siblings or labels only: add one of arcs, such as pos[h] pos[m], or ask "
                "for siblings with order=2 (--order 2) and for labels with labelled=True (--labelled)"
            )
        return text

    def check_templates(self) -> None:
        """Raise `InputError` if a kind of templates is missing; warn of what was given and none of them uses."""
        lines = self._extractor((0, 1, 2)).templates()
        kinds = {
            "s, which order 2 asks for": self.order == 1 or any("[s" in line for line in lines),
            "label, which labelled asks for": not self.labelled or any("label" in line.split() for line in lines),
        }
        for missing in (text for text, there in kinds.items() if not there):
            raise InputError(f"{self.name}: found no template with {missing}; add one")
        given = {"xpos": self.xpos, "cluster": self._lists.cluster_paths, "gazetteer": self._lists.gazetteers}
        for atom in (name for name, there in given.items() if there and not self._uses(name)):
            text = f"the features {self.name} have no template with {atom}[...]: what was given for it is not used"
            warnings.warn(InputWarning(text), stacklevel=3)

    def _uses(self, atom: str) -> bool:
        return any(
            found.startswith(f"{atom}[") for line in self._extractor((0, 1, 2)).templates() for found in line.split()
        )

    @property
    def columns_read(self) -> set[int]:
        """Columns, from 1, that templates name or `pos_column` does."""
        lines = self._extractor((0, 1, 2)).templates()
        named = {int(found[1]) for line in lines for atom in line.split() if (found := COLUMN.fullmatch(atom))}
        return named | (set() if self.pos_column is None else {self.pos_column})

    def _extractor(self, columns: tuple[int, ...]) -> _core.ArcExtractor:
        """Return the native extractor for sources with words and parts of speech in these columns."""
        if columns not in self._extractors:
            templates = fitting_templates(self._templates, order=self.order, labelled=self.labelled)
            self._extractors[columns] = self._made(templates, columns)
        return self._extractors[columns]

    def _made(self, templates: str, columns: tuple[int, ...]) -> _core.ArcExtractor:
        word, pos, xpos = columns
        try:
            return _core.ArcExtractor(
                templates,
                word,
                pos,
                xpos if self.xpos else None,
                self._lists.cluster_words,
                list(self._lists.cluster_paths),
                list(self._lists.gazetteers.items()),
            )
        except ValueError as error:
            advice = "; ask for the other part of speech with xpos=True (--xpos)" if "xpos[" in str(error) else ""
            raise InputError(f"{self.name}, {error}{advice}") from error

    def _columns(self, source: Any) -> tuple[int, ...]:
        """Return the columns of words and of both parts of speech."""
        if not isinstance(source, ColumnCorpus):
            return 0, 1, 2
        pos = source.column("UPOS") if self.pos_column is None else self.pos_column - 1
        there = len(source.layout.names)
        if pos >= there:
            raise InputError(
                f"{source.tables[0].name}: found {there} columns, and the parts of speech should be in column "
                f"{pos + 1}, as --pos-column says: name one that is there"
            )
        return source.word_column, pos, source.column("XPOS") if self.xpos else 0

    def _tables(self, source: Any) -> tuple[Sequence[_core.TokenColumns], _core.ArcExtractor]:
        extractor = self._extractor(self._columns(source))
        if isinstance(source, ColumnCorpus):
            return source.tables, extractor
        if self.xpos and any(len(word) < 3 for sentence in source for word in sentence):
            raise InputError("xpos asks for the third part of words, and X has words of two: (form, upos, xpos)")
        try:
            return [_core.RowTable(source)], extractor
        except ValueError as error:  # of text that UTF-8 cannot hold
            raise InputError(f"X: {error}") from error

    def values(self, source: Any) -> NDArray[np.uint64]:
        """Return what templates see in every word, a row a word."""
        tables, extractor = self._tables(source)
        parts = []
        for table in tables:
            try:
                parts.append(extractor.values(table, self.n_threads))
            except ValueError as error:
                raise InputError(f"{getattr(table, 'name', 'X')}: {error}") from error
        tokens = sum(int(table.sentences()[-1]) for table in tables)
        return np.concatenate(parts).reshape(tokens, extractor.views)

    def fit(self, source: Any, trees: FittingTrees, label_count: int) -> None:
        """Learn the features of right arcs, unless they are hashed; `trees` are those of the sentences kept."""
        self.label_count = label_count
        tables, extractor = self._tables(source)
        self._warn_of_constants(source)
        if self._chooses_bits:
            self.hash_bits = fitting_bits(trees.heads.size)
        if self.hash_bits is None:
            heads, left_out = trees.heads, None
            if trees.kept is not None:
                lengths = np.concatenate([lengths_of(table.sentences()) for table in tables])
                heads = np.zeros(int(lengths.sum()), dtype=np.int64)
                heads[np.repeat(trees.kept, lengths)] = trees.heads
                left_out = (~trees.kept).astype(np.uint8)
            self._vocabularies = extractor.learn(list(tables), heads.astype(np.uint16), left_out, self.min_count)
            if not any(map(len, self._vocabularies)):
                raise InputError(f"min_count={self.min_count} leaves no feature; give a smaller one (--min-count)")
        self._core = None

    def _parts_of_speech(self, source: Any) -> dict[str, list[str]]:
        """Return different values of each part of speech that templates read, two of them at most."""
        _, pos, xpos = self._columns(source)
        names = {"pos": "upos" if self.pos_column is None else f"column {self.pos_column}", "xpos": "xpos"}
        columns = {"pos": pos, "xpos": xpos}
        return {names[atom]: _different(source, columns[atom]) for atom in names if self._uses(atom)}

    def warn_of_missing(self, source: Any) -> None:
        """Warn of parts of speech that no word has, and words had in training."""
        for name, found in self._parts_of_speech(source).items():
            if found == [MISSING] and name not in self._constants:
                text = f"no word has its {name}, which the parser reads: {MISSING!r} stands there; tag the words first"
                warnings.warn(InputWarning(text), stacklevel=4)

    def _warn_of_constants(self, source: Any) -> None:
        """Note parts of speech that are all the same, and warn of them: they say nothing."""
        self._constants = []
        for name, found in self._parts_of_speech(source).items():
            if len(found) == 1:
                self._constants.append(name)
                warnings.warn(
                    InputWarning(f"all words have the same {name}, {found[0]!r}, which says nothing of them"),
                    stacklevel=3,
                )

    @property
    def core(self) -> _core.ArcFeatures:
        """The features as the native task knows them."""
        if self._core is None:
            extractor = self._extractor((0, 1, 2))
            if self.hash_bits is not None:
                self._core = _core.ArcFeatures.by_hashing(extractor, self.hash_bits, self.label_count)
            else:
                self._core = _core.ArcFeatures.by_vocabularies(extractor, *self._vocabularies)
        return self._core

    @property
    def counts(self) -> dict[str, int]:
        """Number of features of each kind."""
        return dict(zip(KINDS, self.core.counts, strict=True))

    def describe(self, kind: int, feature: int) -> str:
        """Name a feature."""
        if self.hash_bits is not None:
            return f"{KINDS[kind]}: hash {feature}"
        return self._extractor((0, 1, 2)).described(kind, self._vocabularies[kind].name(feature))

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return everything that extraction needs as arrays."""
        names = ("name", "order", "labelled", "hash_bits", "min_count", "pos_column", "xpos")
        options = {
            **{name: getattr(self, name) for name in names},
            "templates": self._templates,
            "labels": self.label_count,
            "constant": ",".join(self._constants),
            **self._lists.options(),
        }
        tensors = {"features_options": np.frombuffer(json_text(options).encode(), dtype=np.uint8)}
        for kind, vocabulary in zip(KINDS, self._vocabularies, strict=False):
            tensors |= vocabulary_tensors(vocabulary, f"features_{kind}")
        return tensors | self._lists.tensors()

    @classmethod
    def load(cls, tensors: dict[str, NDArray[Any]]) -> ArcFeatureSet:
        """Make the feature set from its arrays."""
        options = parse_json(tensors["features_options"].tobytes())
        features = cls.__new__(cls)
        features.name, features._templates = str(options["name"]), str(options["templates"])
        features.order = checked("order", options["order"], "positive count")
        features.min_count = checked("min_count", options["min_count"], "positive count")
        features.xpos, features.labelled = bool(options["xpos"]), bool(options["labelled"])
        for name, kind in (("hash_bits", "hash bits"), ("pos_column", "positive count")):
            value = options[name]
            setattr(features, name, None if value is None else checked(name, value, kind))
        features.label_count = checked("labels", options["labels"], "count")
        features.n_threads = 1
        features._constants = str(options.get("constant", "")).split(",")
        features._lists = Lists.load(options, tensors)
        stored = features.hash_bits is None
        features._vocabularies = [load_vocabulary(tensors, f"features_{kind}") for kind in KINDS] if stored else ()
        features._core, features._extractors, features._chooses_bits = None, {}, False
        features._extractor((0, 1, 2))
        return features


def fitting_bits(words: int) -> int:
    """Return the bits of a hash that has at least 20 numbers a word, up to `HASH_BITS`.

    Examples
    --------
    >>> fitting_bits(20_000), fitting_bits(200_000)
    (19, 22)
    """
    least = 14
    return min(max((20 * words).bit_length(), least), HASH_BITS)


def _different(source: Any, column: int) -> list[str]:
    """Return the different cells of a column, two of them at most; none if there are no words."""
    found: dict[str, None] = {}
    if isinstance(source, ColumnCorpus):
        found = dict.fromkeys(source.labels(column, strings=True).names.tolist())
    else:
        for sentence in source:
            found |= dict.fromkeys(word[column] for word in sentence)
            if len(found) > 1:
                break
    return list(found)[:2]
