"""From sentences to what templates of arcs see in their words, and how features of arcs are numbered."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.parameters import checked, one_of
from marginloom.common.vocabularies import load_vocabulary, vocabulary_tensors
from marginloom.errors import InputError, InputWarning
from marginloom.features import Lists
from marginloom.features.columns import ColumnsRead, written_columns
from marginloom.features.extracted import is_there
from marginloom.features.morphology import check_feats, names_in
from marginloom.features.template_lines import check_given, template_lines
from marginloom.io.columns import FEATS, UPOS, XPOS, Columns, NamedRows, checked_column
from marginloom.io.conll import OTHER_TREES, ColumnCorpus
from marginloom.io.files import StrPath, decode_utf8, read_bytes
from marginloom.io.model import json_text, parse_json
from marginloom.io.names import quoted, shown
from marginloom.tasks.parse.cells import cells_read, different_cells, warn_of_constants, warn_of_missing
from marginloom.tasks.parse.feature_sets import (
    FEATURE_SETS,
    SETS_OF_METHODS,
    fitting_templates,
    frequent_names,
    label_templates,
    reads_feats,
    reads_sibling,
    templates_of,
)
from marginloom.tasks.parse.gold import FittingTrees
from marginloom.tasks.parse.sentences import USUAL_COLUMNS, lengths_of, named_rows

#: Stands for bits that fit the number of words where nothing is counted, and for a vocabulary where features are.
AUTO = "auto"
#: At most.
HASH_BITS = 22
#: Kinds of features, as the native part numbers them.
KINDS = {"graph": ("arcs", "siblings", "labels"), "transition": ("states", "labels"), "labels": ("labels",)}
_ABOUT = {"graph": "arcs", "transition": "states", "labels": "arcs"}
_EXTRACTORS: dict[str, Any] = {
    "graph": _core.ArcExtractor,
    "transition": _core.StateExtractor,
    "labels": _core.TreeLabelExtractor,
}


class ArcFeatureSet:
    """Features of arcs, or of states of a parser, by templates, see docs/parsing.md.

    Parameters
    ----------
    name : str or path-like
        A named set, or a file of templates; ``auto`` is the first named set of the method.
    method : {"graph", "transition", "labels"}
        How trees are found: by features of arcs, or of states; or that arcs of trees which are known are labelled.
    order : int
        2 for features of siblings too.
    labelled : bool
        Whether arcs have labels, and features for them.
    hash_bits : int, "auto" or None
        Number features by so many bits of a hash; None keeps a vocabulary of those of right arcs only.
        ``"auto"`` means 14 to 22 bits by the number of words, unless `min_count` asks for a vocabulary.
    min_count : int
        Features of a vocabulary seen less often in training are left out.
    pos_column : int or str, optional
        Column of the parts of speech: its number in the training input, from 1, or its name; by default ``upos``.
    xpos : bool, optional
        Whether to use the other part of speech too, the column ``xpos``; by default where it is not constant.
    feats : bool, optional
        Whether to use morphological features, the column ``feats``; by default where it is not constant.
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
        name: StrPath = AUTO,
        *,
        method: str = "graph",
        order: int = 1,
        labelled: bool = True,
        hash_bits: int | str | None = AUTO,
        min_count: int = 1,
        pos_column: int | str | None = None,
        xpos: bool | None = None,
        feats: bool | None = None,
        lists: Lists | None = None,
        n_threads: int = 1,
    ) -> None:
        self.method = method
        name = _checked_name(name, method)
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
        self.labelled: bool = checked("labelled", labelled, "switch")
        #: What was asked for; None where the data are to decide.
        self.asked = {
            name: None if given is None else bool(checked(name, given, "switch"))
            for name, given in ((XPOS, xpos), (FEATS, feats))
        }
        self.xpos, self.feats = bool(xpos), bool(feats)
        self._feats_names: tuple[str, ...] = ()  # that a named set reads
        self.pos_column, self.n_threads = pos_column, n_threads
        self._lists = lists or Lists()
        self._templates = self._find_templates(name)
        if self.name not in FEATURE_SETS:
            self.xpos, self.feats = (asked is not False for asked in self.asked.values())
        self.label_count = 0
        self._constants: list[str] = []
        self._vocabularies: Sequence[_core.Vocabulary] = ()
        self._core: Any = None
        self._settle()
        given = {
            "pos": True,
            "xpos": self.xpos,
            "feats": self.feats,
            "cluster": self._lists.cluster_paths,
            "gazetteer": self._lists.gazetteers,
        }
        check_given(self._lines, {kind for kind, there in given.items() if there})

    def _settle(self) -> None:
        """Parse the templates that are used, and see what they read."""
        self._used_templates = self._fitting(self._templates)
        is_file = self.name not in FEATURE_SETS
        self._lines = template_lines(self.name, self._used_templates, is_file=is_file, about=_ABOUT[self.method])
        self.columns = ColumnsRead(self._lines, {"pos": self.pos_column or UPOS, "xpos": XPOS})
        self._extractors: dict[tuple[int, ...], Any] = {}

    def _fitting(self, templates: str) -> str:
        if self.method == "labels":
            return label_templates(templates)
        states = self.method == "transition"
        return fitting_templates(templates, order=self.order, labelled=self.labelled, states=states)

    def _find_templates(self, name: StrPath) -> str:
        if self.name in FEATURE_SETS:
            clusters = bool(self._lists.cluster_paths)
            return templates_of(self.name, with_xpos=self.xpos, with_clusters=clusters, feats=self._feats_names)
        text = decode_utf8(read_bytes(name), self.name)
        if self.method == "labels":
            return text  # looked at as a whole by the features that find trees
        lines = template_lines(self.name, text, is_file=True, about=_ABOUT[self.method])  # also those not used
        if self.method == "transition" and all("label" in line.kinds for line in lines):
            raise InputError(f"{self.name} has templates of labels only: add one of states, such as pos[s0] pos[s1]")
        if not self._fitting(text).strip():
            raise InputError(
                f"{self.name} has templates of siblings or labels only: add one of arcs, such as pos[h] pos[m], or ask "
                "for siblings with order=2 (--order 2) and for labels with labelled=True (--labelled)"
            )
        return text

    def choose(self, source: Any) -> None:
        """Decide by the training input what a named set reads: columns that tell words apart, names that are frequent.

        Raises
        ------
        InputError
            If the column FEATS is to be read and is not well formed.
        """
        if self.name not in FEATURE_SETS:
            return
        rows = _with_columns(source)
        columns = rows.columns
        pos = self.pos_column or UPOS
        read_as_pos = columns.find(pos) if isinstance(pos, str) else pos - 1
        for name, asked in self.asked.items():
            place = columns.find(name) if columns.names else None
            varies = place is not None and place != read_as_pos and len(different_cells(rows, place)) > 1
            setattr(self, name, (varies if columns.count else False) if asked is None else asked)
        place = columns.find(FEATS) if columns.names and self.feats and reads_feats(self.name) else None
        if place is not None and columns.count:
            self._feats_names = frequent_names(names_in(rows, place))
        self._templates = self._find_templates(self.name)
        if not reads_feats(self.name) and self.asked[FEATS] is None:
            self.feats = False
        self._settle()

    def check_templates(self) -> None:
        """Raise `InputError` if a kind of templates is missing; warn of what was given and none of them uses."""
        lines = [line.text for line in self._lines]
        kinds = {
            "s, which order 2 asks for": self.method == "labels" or self.order == 1 or any(map(reads_sibling, lines)),
            "label, which labelled asks for": not self.labelled or any("label" in line.split() for line in lines),
        }
        for missing in (text for text, there in kinds.items() if not there):
            raise InputError(f"{self.name}: found no template with {missing}; add one")
        given = {
            **{name: asked is True for name, asked in self.asked.items()},
            "cluster": self._lists.cluster_paths,
            "gazetteer": self._lists.gazetteers,
        }
        for atom in (name for name, there in given.items() if there and not self._uses(name)):
            text = f"the features {self.name} have no template with {atom}[...]: what was given for it is not used"
            warnings.warn(InputWarning(text), stacklevel=3)

    def _uses(self, atom: str) -> bool:
        return atom in self._kinds_of_atoms

    @functools.cached_property
    def _kinds_of_atoms(self) -> frozenset[str]:
        """What comes before the places of atoms; kept, since prediction asks and templates do not change."""
        return frozenset(kind for line in self._lines for kind in line.kinds)

    @property
    def template_count(self) -> int:
        """Number of templates that are used."""
        return len(self._lines)

    @property
    def native_extractor(self) -> Any:
        """An extractor that knows all but the places of columns."""
        return self._extractor

    @property
    def _extractor(self) -> Any:
        """An extractor that knows all but the places of columns."""
        return self._extractor_for(Columns("X", 0))

    def _extractor_for(self, columns: Columns) -> Any:
        """Return the native extractor for sources with these columns."""
        places = self.columns.places(columns)
        key = tuple(places.values())
        if key not in self._extractors:
            self._extractors[key] = _EXTRACTORS[self.method](
                self._used_templates,
                places.get("word", 0),
                places.get("pos"),
                places.get("xpos"),
                written_columns(places),
                self._lists.cluster_words,
                list(self._lists.cluster_paths),
                list(self._lists.gazetteers.items()),
            )
        return self._extractors[key]

    def _tables(self, source: Any) -> tuple[Sequence[_core.TokenColumns], Any]:
        rows = _with_columns(source)
        extractor = self._extractor_for(rows.columns)
        if isinstance(rows, ColumnCorpus):
            return rows.tables, extractor
        try:
            return [_core.RowTable(rows)], extractor
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
        self._learn_columns(source)
        tables, extractor = self._tables(source)
        self._constants = warn_of_constants(cells_read(_with_columns(source), self.columns))
        if self._chooses_bits:
            self.hash_bits = fitting_bits(trees.heads.size, self.method)
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

    def fit_labels(self, source: Any, label_count: int, bits: int) -> None:
        """Learn which columns are read, for features that label arcs of known trees, in `bits` bits of a hash."""
        self.label_count, self.hash_bits = label_count, bits
        self._learn_columns(source)
        cells = cells_read(_with_columns(source), self.columns)
        self._constants = [name for name, found in cells.items() if len(found) == 1]

    def _learn_columns(self, source: Any) -> None:
        rows = _with_columns(source)
        if rows.columns.count:
            self.columns.learn(rows.columns)
        check_feats(self._lines, self.columns, rows, learn=True)
        self._refuse_trees()

    def _refuse_trees(self) -> None:
        """Raise `InputError` if templates would read the gold trees, which prediction does not have."""
        trees = {"head", "deprel", *map(str.lower, OTHER_TREES)}
        for reference, name in self.columns.names.items():
            if name in trees:
                raise InputError(
                    f"the column {name.upper()} holds trees, and {self.columns.reader(reference)}: a parser of "
                    "that learns nothing for input without trees; name another column"
                )

    def warn_of_missing(self, source: Any) -> None:
        """Warn of columns that are empty for all words, and were not in training; `InputError` for a wrong FEATS."""
        check_feats(self._lines, self.columns, _with_columns(source), learn=False)
        warn_of_missing(cells_read(_with_columns(source), self.columns), self._constants)

    @property
    def core(self) -> Any:
        """The features as the native task knows them."""
        if self._core is None:
            extractor = self._extractor
            native: Any = _core.ArcFeatures if self.method == "graph" else _core.StateFeatures
            if self.hash_bits is not None:
                self._core = native.by_hashing(extractor, self.hash_bits, self.label_count)
            else:
                self._core = native.by_vocabularies(extractor, *self._vocabularies)
        return self._core

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of features, as the native part numbers them."""
        return KINDS[self.method]

    @property
    def counts(self) -> dict[str, int]:
        """Number of features of each kind."""
        return dict(zip(self.kinds, self.core.counts, strict=True))

    def table_of(self, source: Any, sentence: int) -> tuple[_core.TokenColumns, Any, int, int]:
        """Return the table that has a sentence, its extractor, the place there, and how many sentences there are."""
        tables, extractor = self._tables(source)
        counts = [int(table.sentences().size) - 1 for table in tables]
        place = sentence
        for table, count in zip(tables, counts, strict=True):
            if 0 <= place < count:
                return table, extractor, place, sum(counts)
            place -= count
        raise InputError(f"there is no sentence {sentence + 1}: the input has {sum(counts)} (counted from 1)")

    def describe(self, kind: int, feature: int) -> str:
        """Name a feature."""
        if self.hash_bits is not None:
            return f"{self.kinds[kind]}: hash {feature}"
        return str(self._extractor.described(kind, self._vocabularies[kind].name(feature)))

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return everything that extraction needs as arrays."""
        names = ("name", "order", "labelled", "hash_bits", "min_count", "pos_column", "xpos", "feats")
        options = {
            **{name: getattr(self, name) for name in names},
            "templates": self._templates,
            "labels": self.label_count,
            "constant": ",".join(self._constants),
            **self.columns.options(),
            **self._lists.options(),
        }
        if self.method != "graph":
            options["method"] = self.method
        tensors = {"features_options": np.frombuffer(json_text(options).encode(), dtype=np.uint8)}
        for kind, vocabulary in zip(self.kinds, self._vocabularies, strict=False):
            tensors |= vocabulary_tensors(vocabulary, f"features_{kind}")
        return tensors | self._lists.tensors()

    @classmethod
    def load(
        cls, tensors: dict[str, NDArray[Any]], settings: Mapping[str, Any] = MappingProxyType({})
    ) -> ArcFeatureSet:
        """Make the feature set from its arrays; `settings` are those of the model."""
        options = parse_json(tensors["features_options"].tobytes())
        features = cls.__new__(cls)
        features.name, features._templates = str(options["name"]), str(options["templates"])
        features.method = checked("method", options.get("method", "graph"), one_of(*KINDS))
        features.order = checked("order", options["order"], "positive count")
        features.min_count = checked("min_count", options["min_count"], "positive count")
        features.xpos, features.feats = bool(options["xpos"]), bool(options.get("feats", False))
        features.asked = {XPOS: features.xpos, FEATS: features.feats}
        features._feats_names = ()  # its templates are stored
        features.labelled = bool(options["labelled"])
        bits = options["hash_bits"]
        features.hash_bits = None if bits is None else checked("hash_bits", bits, "hash bits")
        features.pos_column = checked_column("pos_column", options["pos_column"])
        features.label_count = checked("labels", options["labels"], "count")
        features.n_threads = 1
        features._constants = str(options.get("constant", "")).split(",")
        features._lists = Lists.load(options, tensors)
        stored = features.hash_bits is None
        features._vocabularies = (
            [load_vocabulary(tensors, f"features_{kind}") for kind in features.kinds] if stored else ()
        )
        features._core, features._chooses_bits = None, False
        features._settle()
        features.columns.load(options, settings, USUAL_COLUMNS)
        if "columns" not in options and features.pos_column is not None:  # what versions before wrote into `constant`
            numbered = {f"column {features.pos_column}": features.columns.names.get("pos", "")}
            features._constants = [numbered.get(name, name) for name in features._constants]
        features._extractor_for(Columns("X", 0))  # says if something does not fit together
        return features


def fitting_bits(words: int, method: str = "graph") -> int:
    """Return the bits of a hash that has at least 20 numbers a word, up to `HASH_BITS`; for states, 4 times as many.

    A feature of states has a weight for each action.

    Examples
    --------
    >>> fitting_bits(20_000), fitting_bits(200_000), fitting_bits(200_000, "transition")
    (19, 22, 24)
    """
    least = 14
    return min(max((20 * words).bit_length(), least), HASH_BITS) + (2 if method == "transition" else 0)


def _checked_name(name: StrPath, method: str) -> StrPath:
    """Return the name of a set of features or of a file; `InputError` if it is neither, or for another method."""
    sets = SETS_OF_METHODS[method]
    if name == AUTO:
        return sets[0]
    if not isinstance(name, (str, os.PathLike)) or (name not in FEATURE_SETS and not is_there(name)):
        raise InputError(
            f"there is no feature set {quoted(name)} for {_ABOUT[method]}, nor a file of that name; the sets are: "
            f"{', '.join(sets)}"
        )
    if name in FEATURE_SETS and name not in sets:
        other = next(other for other, names in SETS_OF_METHODS.items() if name in names)
        raise InputError(
            f"the feature set {name} is for method={other} (--method {other}), and the method is {method}, whose sets "
            f"are: {', '.join(sets)}"
        )
    return name


def _with_columns(source: Any) -> ColumnCorpus | NamedRows:
    """Return sentences with what their columns are called."""
    return source if isinstance(source, (ColumnCorpus, NamedRows)) else named_rows(source)
