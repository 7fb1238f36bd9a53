"""Arc-standard derivations of small treebanks, with features from the definition, in plain Python."""

from __future__ import annotations

import functools
import re
import tempfile
import warnings

import numpy as np

from marginloom.errors import InputWarning
from marginloom.tasks.parse.features import ArcFeatureSet
from marginloom.tasks.parse.gold import FittingTrees
from marginloom.tasks.parse.sentences import offsets_of
from marginloom.tasks.parse.task import BeamOptions, TreeOptions
from marginloom.tasks.parse.transition import TransitionTask
from support.treebanks import DISTANCES, SEPARATOR, TinyTrees, features_of

SHIFT, LEFT, RIGHT = range(3)
_ATOM = re.compile(r"(\w+)(?:\[([a-z0-9.]+)(?:,(\d+))?\])?")
#: One of each kind of place.
TEMPLATES = """
bias
pos[s0]
pos[s0] pos[q0]
word[s0] pos[s1]
pos[s2] pos[s1]
suffix[s0,2] pos[q1]
pos[s1] pos[s1.r]
pos[s0] pos[s0.l] pos[s0.l2]
pos[s1.l] pos[s0.r2] valency[s1.l]
valency[s0.r] pos[s0]
"""
#: With what makes positions matter.
FAR_TEMPLATES = TEMPLATES + "pos[s0] distance\nword[s1] distance\n"
LABEL_TEMPLATES = "label pos[m] direction\nlabel pos[h] word[m]\nlabel pos[m-1]\n"


class ParserState:
    """A stack of words, the next word, and the heads so far."""

    def __init__(self, length):
        self.length, self.stack, self.next, self.heads = length, [], 1, {}

    def actions(self):
        return ([SHIFT] if self.next <= self.length else []) + ([LEFT, RIGHT] if len(self.stack) > 1 else [])

    def arc(self, action):
        """Return the head and the modifier that a reduction makes."""
        s1, s0 = self.stack[-2:]
        return (s0, s1) if action == LEFT else (s1, s0)

    def after(self, action):
        """Return the state after an action."""
        new = ParserState(self.length)
        new.stack, new.next, new.heads = list(self.stack), self.next, dict(self.heads)
        if action == SHIFT:
            new.stack.append(self.next)
            new.next += 1
        else:
            head, modifier = self.arc(action)
            new.stack[-2:] = [head]
            new.heads[modifier] = head
        return new

    def place(self, name):
        """Return the word at a place: 0 where there is none, and a number beyond the last word behind the end."""
        if name[0] == "q":
            return self.next + int(name[1])
        depth, _, modifier = name[1:].partition(".")
        if int(depth) >= len(self.stack):
            return 0
        word = self.stack[-1 - int(depth)]
        if not modifier:
            return word
        own = self.modifiers(word, modifier[0])
        rank = int(modifier[1:] or 1)
        return own[rank - 1] if len(own) >= rank else 0

    def modifiers(self, word, side):
        """Return the modifiers on a side, the farthest first."""
        own = [m for m, head in self.heads.items() if head == word and (m < word) == (side == "l")]
        return sorted(own, reverse=side == "r")


@functools.cache
def all_derivations(length):
    """Return all sequences of actions that end with one word."""
    found = []

    def go_on(state, actions):
        if not state.actions():
            found.append(tuple(actions))
        for action in state.actions():
            go_on(state.after(action), [*actions, action])

    if length:
        go_on(ParserState(length), [])
    return found or [()]


def states_of(actions, length):
    """Return the state before each action, and the last one."""
    states = [ParserState(length)]
    for action in actions:
        states.append(states[-1].after(action))
    return states


def heads_of(actions, length):
    """Return the heads that a derivation makes; 0 for the root, None for words without one."""
    last = states_of(actions, length)[-1]
    root = last.stack[0] if not last.actions() and last.stack else None
    return tuple(0 if word == root else last.heads.get(word) for word in range(1, length + 1))


def gold_actions(heads):
    """Return the derivation of a projective tree that reduces as early as possible."""
    state, actions = ParserState(len(heads)), []
    while state.actions():
        action = next(action for action in (LEFT, RIGHT, SHIFT) if _fits(state, action, heads))
        actions.append(action)
        state = state.after(action)
    return tuple(actions)


def _fits(state, action, heads):
    if action not in state.actions():
        return False
    if action == SHIFT:
        return True
    head, modifier = state.arc(action)
    complete = all(word in state.heads for word, above in enumerate(heads, 1) if above == modifier)
    return heads[modifier - 1] == head and complete


def prefix_loss(actions, heads, labels=(), gold_labels=()):
    """Return the words with a wrong head or label, or whose gold head has left the stack."""
    made = heads_of(actions, len(heads))
    loss = 0
    for word, (gold, own) in enumerate(zip(heads, made, strict=True)):
        if own is None:
            loss += bool(gold) and made[gold - 1] is not None
        else:
            loss += own != gold or (bool(labels) and labels[word] != gold_labels[word])
    return loss


def state_features(templates, sentence, state):
    """Return the names of the features of a state."""
    found = []
    lines = [line for line in templates.splitlines() if line.strip() and "label" not in line.split()]
    for number, line in enumerate(lines):
        values = [_value(_ATOM.fullmatch(atom).groups(), sentence, state) for atom in line.split()]
        if None not in values:
            found.append(f"{number}:" + SEPARATOR.join(values))
    return found


def _value(atom, sentence, state):
    name, place, argument = atom
    if name == "bias":
        return ""
    if name == "distance":
        s0, s1 = state.place("s0"), state.place("s1")
        return DISTANCES.get(s0 - s1, "11+") if s1 else "<none>"
    if name == "valency":
        depth, side = place[:2], place[3]
        count = len(state.modifiers(state.place(depth), side)) if state.place(depth) else 0
        return str(count) if count < 7 else "7+"
    word = state.place(place)
    if word == 0:
        return "<none>"
    if word > len(sentence):
        return "</s>"
    form, pos = sentence[word - 1][:2]
    if name == "suffix":
        return form[-int(argument) :] if len(form) >= int(argument) else None
    return {"word": form, "pos": pos}[name]


class TinyDerivations(TinyTrees):
    """Random sentences with trees, whose features are those of their gold derivations' states, and of labels."""

    def __init__(self, seed, *, beam=8, merging=True, update="max-violation", templates=TEMPLATES, **options):
        self.search = BeamOptions(beam, merging, update)
        self.state_templates = templates + LABEL_TEMPLATES
        super().__init__(seed, **options)

    def learn(self, range_of=None):
        """Number the features of gold derivations, or of those of all outputs that `range_of` returns."""
        self.names = [{}, {}, {}]
        for i, right in enumerate(self.y):
            for y in range_of(i) if range_of else [right]:
                heads, labels = self.apart(i, y)
                for kind, name, *_ in self.derivation_features(i, gold_actions(heads), labels):
                    self.names[kind].setdefault(name, len(self.names[kind]))

    def derivation_features(self, i, actions, labels=()):
        """Return the kind, name and column of the features of a derivation or its beginning."""
        sentence = self.X[i]
        states = states_of(actions, len(sentence))
        found = [
            (0, name, action)
            for state, action in zip(states, actions, strict=False)
            for name in state_features(self.state_templates, sentence, state)
        ]
        return found + self._label_features(i, heads_of(actions, len(sentence)), labels)

    def _label_features(self, i, heads, labels):
        if not self.labels:
            return []
        known = tuple(head if head is not None else 0 for head in heads)
        found = features_of(LABEL_TEMPLATES, 1, True, tuple(self.X[i]), known)
        return [
            (2, name, labels[word - 1] if labels else None) for _, name, word in found if heads[word - 1] is not None
        ]

    @property
    def dimension(self):
        return 3 * len(self.names[0]) + len(self.names[2]) * self.labels

    def phi(self, i, y):
        heads, labels = self.apart(i, y)
        return self.derivation_phi(i, gold_actions(heads), labels)

    def derivation_phi(self, i, actions, labels=()):
        """Feature vector of a derivation or its beginning: three columns a feature of states, then those of labels."""
        vector = np.zeros(self.dimension)
        for kind, name, column in self.derivation_features(i, actions, labels):
            if name in self.names[kind]:
                own = self.names[kind][name]
                first, width = (0, 3) if kind == 0 else (3 * len(self.names[0]), self.labels)
                vector[first + own * width + column] += 1
        return vector

    def best_labels(self, i, actions, w):
        """Return the best label for every word that has a head, 0 for the others."""
        rows = w[3 * len(self.names[0]) :].reshape(-1, self.labels)
        heads = heads_of(actions, len(self.X[i]))
        scores = np.zeros((len(heads), self.labels))
        known = tuple(head if head is not None else 0 for head in heads)
        for _, name, word in features_of(LABEL_TEMPLATES, 1, True, tuple(self.X[i]), known):
            if name in self.names[2]:
                scores[word - 1] += rows[self.names[2][name]]
        return tuple(
            0
            if head is None
            else max(self.other_labels if head else self.root_labels, key=lambda k, w=word: scores[w, k])
            for word, head in enumerate(heads)
        )

    def feature_set(self, **options):
        options = {"hash_bits": None, "labelled": bool(self.labels), "method": "transition", **options}
        with tempfile.NamedTemporaryFile("w+", suffix=".txt") as file:
            file.write(self.state_templates)
            file.flush()
            features = ArcFeatureSet(file.name, **options)
        gold = self.gold()
        with warnings.catch_warnings(action="ignore", category=InputWarning):
            features.fit(self.X, FittingTrees(gold.heads.astype(np.int64), None, None), self.labels)
        self.features = features
        return features

    def tree_options(self):
        own = (self.labels, self.root_labels, self.other_labels) if self.labels else ()
        return TreeOptions(1, True, "one", *own, search=self.search)

    def task(self, *, gold=True, cache=0, **options):
        features = self.feature_set(**options)
        right = self.gold() if gold else None
        return TransitionTask(offsets_of(self.X), features.values(self.X), features.core, self.tree_options(), right)

    def places(self, task):
        """Return where the library has the weights of the features: it numbers them by itself."""
        states, labels = ({names.name(k): k for k in range(len(names))} for names in self.features._vocabularies)
        core = task.core
        rows = np.array([states[name] for name in self.names[0]], dtype=int)[:, None] * core.action_stride
        label_rows = np.array([labels[name] for name in self.names[2]], dtype=int)[:, None] * core.stride
        return np.concatenate(
            [(rows + np.arange(3)).ravel(), (core.first_label_row + label_rows + np.arange(self.labels)).ravel()]
        )

    def actions_and_labels(self, output, length):
        """Return the actions of an output, and a label for every word that has a head, 0 for the others."""
        data, place = bytes(output), 0
        state, actions, labels = ParserState(length), [], [0] * length
        while place < len(data) and state.actions():
            action = data[place]
            place += 1
            if action != SHIFT and self.labels:
                labels[state.arc(action)[1] - 1] = data[place]
                place += 1
            actions.append(action)
            state = state.after(action)
        if not state.actions() and self.labels and length:
            labels[state.stack[0] - 1] = data[place]
            place += 1
        assert place == len(data)
        return tuple(actions), tuple(labels) if self.labels else ()

    def decode_for(self, i, output):
        """Return an output, heads and labels, from the bytes of a whole derivation."""
        actions, labels = self.actions_and_labels(output, len(self.X[i]))
        return (*heads_of(actions, len(self.X[i])), *labels)
