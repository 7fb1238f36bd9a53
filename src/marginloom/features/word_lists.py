"""Lists of words that templates can look up: clusters and gazetteers, from files of users and of models."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.vocabularies import load_vocabulary, vocabulary_tensors
from marginloom.errors import InputError
from marginloom.io.files import StrPath, decode_utf8, read_bytes, text_lines
from marginloom.io.names import quoted, shown

_BLANKS = " \t"  # between the columns of a file, and so all that no token can hold
_BETWEEN_TOKENS = re.compile(f"[{_BLANKS}]+")


@dataclasses.dataclass(frozen=True)
class Lists:
    """Word clusters and gazetteers that templates can look up."""

    cluster_words: _core.Vocabulary = dataclasses.field(default_factory=_core.Vocabulary)
    cluster_paths: Sequence[str] = ()
    gazetteers: Mapping[str, _core.Vocabulary] = dataclasses.field(default_factory=dict)

    @classmethod
    def read(cls, clusters: StrPath | None = None, gazetteers: Mapping[str, StrPath] | None = None) -> Lists:
        """Read a file of Brown clusters (path, word, count a line) and gazetteers (an entry a line)."""
        if not isinstance(gazetteers or {}, Mapping):
            raise InputError(f"gazetteers must be a dict from names to files, not {gazetteers!r}")
        for name in gazetteers or {}:
            if not isinstance(name, str) or shown(name) != name:
                raise InputError(f"the name of a gazetteer must be text that UTF-8 can hold, not {quoted(name)}")
        words, paths = _read_clusters(clusters) if clusters is not None else (_core.Vocabulary(), [])
        return cls(words, paths, {name: _read_gazetteer(path) for name, path in (gazetteers or {}).items()})

    def options(self) -> dict[str, Any]:
        """Return what a file has of them as JSON."""
        return {"cluster_paths": list(self.cluster_paths), "gazetteers": list(self.gazetteers)}

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return what a file has of them as arrays."""
        tensors = vocabulary_tensors(self.cluster_words, "clusters")
        for number, phrases in enumerate(self.gazetteers.values()):
            tensors |= vocabulary_tensors(phrases, f"gazetteer{number}")
        return tensors

    @classmethod
    def load(cls, options: Mapping[str, Any], tensors: dict[str, NDArray[Any]]) -> Lists:
        """Make them from what `options` and `tensors` returned."""
        names = [str(name) for name in options["gazetteers"]]
        return cls(
            load_vocabulary(tensors, "clusters"),
            [str(path) for path in options["cluster_paths"]],
            {name: load_vocabulary(tensors, f"gazetteer{number}") for number, name in enumerate(names)},
        )


def _read_clusters(path: StrPath) -> tuple[_core.Vocabulary, list[str]]:
    words, paths = _core.Vocabulary(), []
    for number, line in enumerate(text_lines(decode_utf8(read_bytes(path), shown(path))), start=1):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) not in (2, 3) or not cells[0] or set(cells[0]) - {"0", "1"}:
            raise InputError(
                f"{shown(path)}, line {number}: found {line[:80]!r}, expected a path of 0 and 1, a word and a count, "
                "with tabs between"
            )
        if words.find(cells[1]) < 0:
            words.encode_strings([cells[1]], grow=True)
            paths.append(cells[0])
    if not paths:
        raise InputError(f"{path}: found no word, expected one a line, with its path and its count")
    return words, paths


def _read_gazetteer(path: StrPath) -> _core.Vocabulary:
    lines = [line.strip(_BLANKS) for line in text_lines(decode_utf8(read_bytes(path), shown(path)))]
    phrases = _core.Vocabulary()
    phrases.encode_strings([_BETWEEN_TOKENS.sub(" ", line) for line in lines if line], grow=True)
    if len(phrases) == 0:
        raise InputError(f"{shown(path)}: found no entry, expected one a line")
    return phrases
