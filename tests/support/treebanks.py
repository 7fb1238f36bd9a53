"""Treebanks small enough to enumerate, with features of arcs from the definition of templates, in plain Python."""

from __future__ import annotations

import functools
import itertools
import re
import tempfile
import warnings

import numpy as np

from marginloom.errors import InputWarning
from marginloom.tasks.parse.features import ArcFeatureSet
from marginloom.tasks.parse.gold import FittingTrees
from marginloom.tasks.parse.sentences import offsets_of
from marginloom.tasks.parse.task import ParseTask, TreeOptions, Trees

#: Between the values of atoms in the name of a feature.
SEPARATOR = "\x1f"
DISTANCES = {**{distance: str(distance) for distance in range(6)}, **dict.fromkeys(range(6, 11), "6-10")}
_ATOM = re.compile(r"(\w+)(?:\[([hmbs])([+-]\d+)?(?:,(\d+))?\])?")
#: Few, so that weights are.
TEMPLATES = """
pos[h] pos[m] direction
word[m] distance
pos[h] pos[b] pos[m]
pos[m+1] pos[h-1]
suffix[m,2] pos[h]
pos[h] pos[s] pos[m] direction
word[s] pos[m]
label pos[m] direction
label pos[h] word[m]
label distance
"""


def is_tree(heads, one_root=True):
    """Tell whether all heads, of words from 1 on, lead to 0, one of them directly if there must be one root."""
    if one_root and heads.count(0) != 1:
        return not heads
    for word in range(1, len(heads) + 1):
        for _ in heads:
            word = heads[word - 1] if word else 0
        if word:
            return False
    return True


def is_projective(heads):
    """Tell whether every word between a word and its head is below that head."""

    def below(word, above):
        for _ in range(len(heads) + 1):
            if word == above:
                return True
            word = heads[word - 1] if word else 0
        return word == above

    return all(
        below(between, head)
        for word, head in enumerate(heads, 1)
        for between in range(min(word, head) + 1, max(word, head))
    )


@functools.cache
def all_trees(length, *, projective=True, one_root=True):
    """Return the heads of all trees, by looking at everything that heads could be."""
    every = itertools.product(range(length + 1), repeat=length)
    return [heads for heads in every if is_tree(heads, one_root) and (not projective or is_projective(heads))]


def nearest_sibling(heads, word):
    """Return the nearest word on the way to the head that has the same head, 0 if there is none."""
    head = heads[word - 1]
    way = range(word - 1, head, -1) if head < word else range(word + 1, head)
    return next((other for other in way if heads[other - 1] == head), 0)


class Line:
    """A template, which knows the names of its features."""

    def __init__(self, text):
        self.atoms = [
            re.fullmatch(r"(\w+)(?:\[([hmbs])([+-]\d+)?(?:,(\d+))?\])?", atom).groups() for atom in text.split()
        ]
        places = {place for _, place, _, _ in self.atoms}
        self.kind = 2 if any(name == "label" for name, *_ in self.atoms) else 1 if "s" in places else 0
        self.between = "b" in places

    def names(self, number, sentence, head, word, sibling):
        """Return the names of an arc's features; `number` is the template's among its kind."""
        others = range(head + 1, word) if head < word else range(head - 1, word, -1)
        found = [self._values(sentence, head, word, other) for other in (others if self.between else [sibling])]
        return list(dict.fromkeys(f"{number}:" + SEPARATOR.join(values) for values in found if None not in values))

    def _values(self, sentence, head, word, other):
        return [self._value(atom, sentence, head, word, other) for atom in self.atoms]

    def _value(self, atom, sentence, head, word, other):
        name, place, offset, argument = atom
        if place is None:
            distance = DISTANCES.get(abs(head - word), "11+")
            return {"direction": "right" if head < word else "left", "distance": distance}.get(name, "")
        if place == "s" and not other:
            return "<none>"
        position = {"h": head, "m": word}.get(place, other) + int(offset or 0)
        if not 1 <= position <= len(sentence):
            return "<s>" if position < 0 else "</s>" if position else "<root>"
        form, pos = sentence[position - 1][:2]
        if name in ("prefix", "suffix"):
            size = int(argument)
            return None if len(form) < size else form[:size] if name == "prefix" else form[-size:]
        return {"word": form, "pos": pos}[name]


@functools.cache
def lines_of(templates, order, labelled):
    """Return the templates that there is a use for, each with its number among those of its kind."""
    lines, counts = [], [0, 0, 0]
    for text in filter(str.strip, templates.splitlines()):
        line = Line(text)
        if (line.kind == 0) or (line.kind == 1 and order == 2) or (line.kind == 2 and labelled):
            lines.append((line, counts[line.kind]))
            counts[line.kind] += 1
    return lines


@functools.cache
def features_of(templates, order, labelled, sentence, heads):
    """Return the kind, name and word of the features of a tree, word by word."""
    return [
        (line.kind, name, word)
        for word, head in enumerate(heads, 1)
        for line, number in lines_of(templates, order, labelled)
        for name in line.names(number, sentence, head, word, nearest_sibling(heads, word))
    ]


class TinyTrees:
    """Random sentences with trees that can mostly be learnt; an output is all heads, then the numbers of all labels."""

    def __init__(self, seed, *, lengths=(1, 2, 3, 3, 3), order=1, projective=True, one_root=True, labels=0):
        rng = np.random.default_rng(seed)
        self.templates = TEMPLATES
        self.order, self.projective, self.one_root, self.labels = order, projective, one_root, labels
        words = [("ab", "N"), ("cab", "N"), ("be", "V"), ("d", "V"), ("bed", "P")]
        self.X = [[words[k] for k in rng.integers(len(words), size=length)] for length in lengths]
        #: Labels that words without a head, and others, may have.
        self.root_labels, self.other_labels = [0], list(range(1, labels))
        self.y = [next(iter(self.outputs(i))) for i in range(len(self.X))]
        self.learn(range_of=self.outputs)

    def learn(self, range_of=None):
        """Number the features of right trees, or of all outputs that `range_of` returns."""
        self.names = [{}, {}, {}]
        for i, right in enumerate(self.y):
            for y in range_of(i) if range_of else [right]:
                for kind, name, _ in self.features(i, y):
                    self.names[kind].setdefault(name, len(self.names[kind]))

    def features(self, i, y):
        """Return the kind, name and label of the features of a tree, word by word."""
        heads, labels = self.apart(i, y)
        found = features_of(self.templates, self.order, bool(self.labels), tuple(self.X[i]), heads)
        return [(kind, name, labels[word - 1] if kind == 2 else None) for kind, name, word in found]

    def apart(self, i, y):
        """Return the heads and labels of an output."""
        count = len(self.X[i])
        return tuple(y[:count]), tuple(y[count:])

    @property
    def dimension(self):
        return len(self.names[0]) + len(self.names[1]) + len(self.names[2]) * self.labels

    def phi(self, i, y):
        """Joint feature vector: arcs, siblings, and a row per feature of labels, without padding."""
        vector = np.zeros(self.dimension)
        for kind, name, label in self.features(i, y):
            if name not in self.names[kind]:
                continue
            number = self.names[kind][name]
            if kind == 2:
                number = number * self.labels + label + len(self.names[1])
            vector[number + (len(self.names[0]) if kind else 0)] += 1
        return vector

    def loss(self, i, y):
        return float(sum(a != b for a, b in zip(self._nodes(i, self.y[i]), self._nodes(i, y), strict=True)))

    def _nodes(self, i, y):
        heads, labels = self.apart(i, y)
        return list(zip(heads, labels, strict=True)) if self.labels else list(heads)

    def outputs(self, i):
        for heads in all_trees(len(self.X[i]), projective=self.projective, one_root=self.one_root):
            if not self.labels:
                yield heads
                continue
            allowed = [self.other_labels if head else self.root_labels for head in heads]
            yield from (heads + labels for labels in itertools.product(*allowed))

    def feature_set(self, **options):
        """Return the library's features by these templates, which have learnt the right trees."""
        options = {"hash_bits": None, "order": self.order, "labelled": bool(self.labels), **options}
        with tempfile.NamedTemporaryFile("w+", suffix=".txt") as file:
            file.write(self.templates)
            file.flush()
            features = ArcFeatureSet(file.name, **options)
        gold = self.gold()
        with warnings.catch_warnings(action="ignore", category=InputWarning):  # of words that are all alike
            features.fit(self.X, FittingTrees(gold.heads.astype(np.int64), None, None), self.labels)
        return features

    def add_label(self):
        """Have one more label, which is never right; or labels at all."""
        if not self.labels:
            self.labels, self.other_labels = 2, [1]
            self.y = [(*y, *(int(head > 0) for head in y)) for y in self.y]
        self.other_labels = [*self.other_labels, self.labels]
        self.labels += 1
        self.learn()

    def gold(self):
        apart = [self.apart(i, y) for i, y in enumerate(self.y)]
        heads, labels = (np.concatenate([tree[part] for tree in apart]).astype(np.uint16) for part in (0, 1))
        return Trees(heads, labels if self.labels else None)

    def tree_options(self):
        own = (self.labels, self.root_labels, self.other_labels) if self.labels else ()
        return TreeOptions(self.order, self.projective, "one" if self.one_root else "many", *own)

    def task(self, *, gold=True, cache=0, **options):
        """Return the library's task of it."""
        features = self.feature_set(**options)
        values = features.values(self.X)
        right = self.gold() if gold else None
        return ParseTask(offsets_of(self.X), values, features.core, self.tree_options(), right, cache=cache)

    def to_core(self, w, task):
        """Spread a weight vector without padding over the core's layout."""
        spread = np.zeros(task.core.dimension)
        spread[self.places(task)] = w
        return spread

    def from_core(self, w, task):
        return np.asarray(w)[self.places(task)]

    def places(self, task):
        """Return where the library has the weights of the features."""
        arcs, siblings, rows = map(len, self.names)
        core = task.core
        row_places = np.arange(rows)[:, None] * core.stride + np.arange(self.labels)
        parts = [np.arange(arcs), core.first_sibling + np.arange(siblings), core.first_label_row + row_places.ravel()]
        return np.concatenate(parts).astype(int)

    def decode(self, output):
        """Return an output from the bytes that the task writes."""
        count = len(output) // (3 if self.labels else 2)
        heads = np.frombuffer(bytes(output[: 2 * count]), dtype="<u2")
        return (*heads.tolist(), *(int(label) for label in output[2 * count :]))
