"""Small problems of every task that can be changed and made tasks of again, and what may change before a warm start."""

from __future__ import annotations

import copy
import itertools
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from marginloom import CustomTask
from marginloom.features.template_lines import BEFORE, BOTH
from marginloom.tasks.custom.plain_values import decode_value
from marginloom.tasks.detection.boxes import loss_tables
from marginloom.tasks.detection.images import ImageSet
from marginloom.tasks.detection.task import DetectionTask
from marginloom.tasks.multiclass.task import MulticlassTask
from marginloom.tasks.relations.task import Losses
from marginloom.tasks.sequence.constraints import BOUNDARY
from support.chain_tasks import ObservedChains, make_task
from support.classes import TinyClasses
from support.custom_chains import EnumeratedChains
from support.entities import TinyRelations
from support.label_sets import TinySets
from support.oracles import TinyChains
from support.small_tasks import Detections, taught_trees, teach

LABELS = 3


class Problem:
    """An oracle by enumeration, the task of it, and how the task writes outputs and lays out its weights."""

    def __init__(self, oracle, *, exact=True, bounded=True):
        self.oracle = oracle
        self.exact, self.bounded = exact, bounded

    def changed(self, change):
        """Return the problem with something changed, by a function that changes a copy of the oracle."""
        result = copy.deepcopy(self)
        change(result.oracle)
        return result

    def task(self):
        raise NotImplementedError

    def output(self, encoded):
        """Return an output of a state as the oracle lists it."""
        raise NotImplementedError

    def weights(self, weights):
        """Return weights in the order of the oracle's features."""
        raise NotImplementedError


class Sequences(Problem):
    def task(self):
        return make_task(self.oracle, "valued")

    def output(self, encoded):
        return tuple(encoded)

    def weights(self, weights):
        return self.oracle.from_core(weights, self.task().core.stride)


class ObservedSequences(Sequences):
    def task(self):
        return make_task(self.oracle, "valued", order=2 if self.oracle.triples else 1)


class RestrictedChains(EnumeratedChains):
    """Says which outputs there are."""

    def allows(self, x, y):
        return self.chains.allows(y)


class Custom(Problem):
    def task(self):
        return RestrictedChains(self.oracle)

    def output(self, encoded):
        return tuple(decode_value(encoded))

    def weights(self, weights):
        return weights


class EveryOutput(CustomTask):
    """Any oracle, with inference over the list of its outputs."""

    def __init__(self, oracle):
        self.oracle = oracle
        self.every = [list(oracle.outputs(i)) for i in range(len(oracle.X))]
        self.phi = [np.array([oracle.phi(i, y) for y in every]) for i, every in enumerate(self.every)]
        self.losses = [np.array([oracle.loss(i, y) for y in every]) for i, every in enumerate(self.every)]
        gold = [tuple(int(part) for part in y) for y in oracle.y]
        super().__init__(range(len(gold)), gold, dimension=self.phi[0].shape[1])

    def features(self, x, y):
        return self.oracle.phi(x, y)

    def loss(self, gold, y):
        return self.oracle.loss(self.Y.index(gold), y)  # of any example with that right output

    def argmax(self, x, w):
        return self.every[x][int(np.argmax(self.phi[x] @ w))]

    def argmax_augmented(self, x, gold, w):
        return self.every[x][int(np.argmax(self.phi[x] @ w + self.losses[x]))]


class Listed(Custom):
    """A problem whose own task does not always find the best output."""

    def task(self):
        return EveryOutput(self.oracle)


class Classes(Problem):
    def task(self):
        toy = self.oracle
        return MulticlassTask(csr_array(toy.X), toy.y, toy.classes, cost_matrix=toy.costs, bias=toy.bias)

    def output(self, encoded):
        return int.from_bytes(encoded, "little")

    def weights(self, weights):
        rows = weights.reshape(-1, self.task().core.stride)[:, : self.oracle.classes]
        features = self.oracle.X.shape[1]
        bias = rows[features:] if self.oracle.bias else np.zeros((1, self.oracle.classes))
        return np.vstack([rows[:features], bias]).T.ravel()


class Sets(Problem):
    def task(self):
        return self.oracle.task(inference="auto" if self.exact else "relaxed")

    def output(self, encoded):
        return tuple(self.oracle.decode(encoded).tolist())

    def weights(self, weights):
        return self.oracle.from_core(weights, self.task())


class Windows(Detections):
    """Detections with a loss that can be another one."""

    box_loss = "iou"

    def loss(self, i, y):
        overlap = 1 - self.images.loss((0, *self.y[i][1:]), (0, *y[1:]))
        same = self.y[i][0] == y[0]
        return (1 - overlap if same else 1.0) if self.box_loss == "iou" else float(not (same and overlap > 0.5))


class Objects(Problem):
    def task(self):
        images = self.oracle.images
        losses = loss_tables(self.oracle.box_loss, range(images.labels), images.sizes)
        gold = np.array(self.oracle.y, dtype=np.uint32)
        packed = ImageSet.pack(images.images)
        return DetectionTask(packed, gold, images.labels, images.sizes, losses=losses, bias=images.bias)

    def output(self, encoded):
        return tuple(np.frombuffer(encoded, dtype="<u2").tolist())

    def weights(self, weights):
        return weights


class Treebanks(Problem):
    _places: ClassVar = {}  # of weights, by the numbers of features and labels

    def task(self):
        return self.oracle.task()

    def output(self, encoded):
        return self.oracle.decode(encoded)

    def weights(self, weights):
        sizes = (*map(len, self.oracle.names), self.oracle.labels)
        if sizes not in self._places:
            self._places[sizes] = self.oracle.places(self.task())
        return np.asarray(weights)[self._places[sizes]]


class Entities(Problem):
    def task(self):
        return self.oracle.task()

    def output(self, encoded):
        return tuple(encoded)

    def weights(self, weights):
        return self.oracle.from_core(weights, self.task())


def eighths(values):
    """Round to numbers that single precision adds up exactly."""
    return np.round(np.asarray(values) * 8) / 8


def chains(seed, *, forbidden=(), costs=(1, 1, 1), max_length=3, **options):
    """Return chains whose gold labels are allowed and can mostly be learnt."""
    return taught_chains(TinyChains, seed, forbidden, costs, max_length=max_length, **options)


def observed_chains(seed, **options):
    """Return chains with weights of labels before a token and what is observed there."""
    found = taught_chains(ObservedChains, seed, (), (1, 1, 1), max_length=3, **options)
    found.learn()
    return found


def taught_chains(kind, seed, forbidden, costs, **options):
    found = kind(seed, labels=LABELS, sentences=7, features=4, integers=False, **options)
    found.X = [eighths(x) for x in found.X]
    found.forbidden, found.label_costs = list(forbidden), np.array(costs, dtype=float)
    found.y = [next(iter(found.outputs(i))) for i in range(len(found.X))]
    teach(found, seed)
    found.y = [np.array(y) for y in found.y]
    return found


def classes():
    toy = TinyClasses(7, examples=12, features=4)
    toy.X = eighths(toy.X)
    return teach(toy, 7)


def sets(pairs, seed, costs=False):
    found = TinySets(seed, rows=6, labels=4, pairs=pairs, bias=1.0, costs=costs)
    found.X, found.costs = eighths(found.X), eighths(found.costs)
    return teach(found, seed)


def objects():
    found = Windows(5, count=6)
    found.images.images = eighths(found.images.images).astype(np.float32)
    return teach(found, 5)


def entities(seed):
    found = TinyRelations(seed, spans=(2, 2, 3, 2, 3, 1), relations=2, lines=[(1, 0, 1), (2, 1, 1), (1, 1, 0)])
    return teach(found, seed)


LENGTHS = (2, 3, 3, 3, 3, 3)
TREE = [(0, 1), (1, 2), (1, 3)]
FULL = list(itertools.combinations(range(4), 2))
FORBIDDEN = [(BOUNDARY, 2), (0, 2), (1, BOUNDARY)]
#: By the names that small_tasks.py has, and two with constraints.
PROBLEMS = {
    "sequence": Sequences(chains(1)),
    "sequence, constrained": Sequences(chains(2, forbidden=FORBIDDEN, costs=(1, 2, 0.5), start_end=True)),
    "sequence, observed transitions": ObservedSequences(observed_chains(13)),
    "sequence, order 2": ObservedSequences(observed_chains(14, reaches=(BEFORE, BOTH), triples=True)),
    "multiclass": Classes(classes()),
    "multilabel, independent": Sets(sets([], 6)),
    "multilabel, tree": Sets(sets(TREE, 7, costs=True)),
    "multilabel, full": Sets(sets(FULL, 8), exact=False),
    "detection": Objects(objects()),
    "parse, projective": Treebanks(taught_trees(9, lengths=LENGTHS)),
    "parse, any tree": Treebanks(taught_trees(10, lengths=LENGTHS, projective=False)),
    "parse, siblings and labels": Treebanks(taught_trees(11, lengths=LENGTHS, order=2, labels=3)),
    "parse, siblings in any tree": Treebanks(
        taught_trees(12, lengths=LENGTHS, order=2, projective=False), exact=False, bounded=False
    ),
    "relations": Entities(entities(13)),
    "custom": Custom(chains(4, max_length=2)),
    "custom, constrained": Custom(chains(2, forbidden=FORBIDDEN)),
}


def nothing(oracle):
    pass


def set_label_costs(*costs):
    def change(oracle):
        oracle.label_costs = np.array(costs)

    return change


def forbid_what_gold_does_not_have(oracle):
    used = {pair for y in oracle.y for pair in itertools.pairwise([BOUNDARY, *map(int, y), BOUNDARY])}
    places = [*range(oracle.labels), BOUNDARY]
    unused = [pair for pair in itertools.product(places, places) if pair not in used and pair != (BOUNDARY, BOUNDARY)]
    oracle.forbidden = unused[::2]
    assert oracle.forbidden


def allow_all(oracle):
    oracle.forbidden = []


def toggle_ends(oracle):
    oracle.start_end = not oracle.start_end


def other_tokens(oracle):
    oracle.X = [eighths(x[:, ::-1] * 1.5 + 0.25) for x in oracle.X]


def more_features_of_tokens(oracle):
    oracle.X = [np.hstack([x, x[:, :1] ** 2]) for x in oracle.X]
    oracle.features += 1


def fewer_features_of_tokens(oracle):
    oracle.X = [x[:, :-1] for x in oracle.X]
    oracle.features -= 1


def more_combinations(oracle):
    oracle.share = 0.9
    oracle.learn()


def fewer_combinations(oracle):
    oracle.share = 0.0
    oracle.learn()


def first_order(oracle):
    oracle.triples = False
    oracle.reaches[:] = BEFORE
    oracle.learn()


def other_rows(oracle):
    oracle.X = eighths(oracle.X[:, ::-1] * 1.5 + 0.25)


def more_features(oracle):
    oracle.X = np.hstack([oracle.X, oracle.X[:, :1] ** 2])
    oracle.features = oracle.X.shape[1]


def fewer_features(oracle):
    oracle.X = oracle.X[:, :-1]
    oracle.features = oracle.X.shape[1]


def other_cost_matrix(oracle):
    oracle.costs = oracle.costs.T * np.array([[0.5], [1], [2], [0.25]])


def other_set_costs(oracle):
    oracle.costs = oracle.costs[:, ::-1] * np.array([2.0, 0.5]) + 0.25


def only_missing_labels_cost(oracle):
    oracle.costs = np.column_stack([np.ones(oracle.labels), np.zeros(oracle.labels)])


def no_bias(oracle):
    oracle.bias = 0.0


def set_pairs(pairs):
    def change(oracle):
        oracle.pairs = list(pairs)

    return change


def other_pixels(oracle):
    images = oracle.images
    images.images = eighths(images.images * 1.5 + 0.25).astype(np.float32)


def more_channels(oracle):
    oracle.images.images = np.concatenate([oracle.images.images, oracle.images.images**2], axis=3)


def zero_one_loss(oracle):
    oracle.box_loss = "zero_one"


def intercepts(oracle):
    oracle.images.bias = True


def other_words(oracle):
    oracle.X = [[(form[::-1], pos) for form, pos in reversed(sentence)] for sentence in oracle.X]
    oracle.learn()


def more_templates(oracle):
    oracle.templates += "\nword[h] word[m]\nlabel word[h]"
    oracle.learn()


def fewer_templates(oracle):
    oracle.templates = "\n".join(line for line in oracle.templates.splitlines() if "word[m]" not in line)
    oracle.learn()


def crossing_arcs(oracle):
    oracle.projective = False


def many_roots(oracle):
    oracle.one_root = False


def siblings(oracle):
    oracle.order = 2
    oracle.learn()


def no_siblings(oracle):
    oracle.order = 1
    oracle.learn()


def all_labels_everywhere(oracle):
    oracle.root_labels = oracle.other_labels = list(range(oracle.labels))


def missed_relations_cost_more(oracle):
    oracle.losses = Losses(0.5, 1.25, 2.0)


def no_loss_of_types(oracle):
    oracle.losses = Losses(0.0, 1.0, 0.5)


def allow_only_gold_relations(oracle):
    used = set()
    for count, y in zip(oracle.spans, oracle.y, strict=True):
        pairs = itertools.permutations(y[:count], 2)
        used |= {(label, *types) for label, types in zip(y[count:], pairs, strict=True) if label}
    assert used < set(oracle.table)
    oracle.table = sorted(used)


def allow_more_relations(oracle):
    oracle.table = sorted({*oracle.table, (2, 0, 0), (1, 0, 0)})


def other_features(oracle):
    oracle.X = [[[(row + 1) % oracle.features for row in rows] for rows in kinds] for kinds in oracle.X]


_OF_CHAINS = {
    "costs": set_label_costs(2.0, 0.5, 1.25),
    "lower costs": set_label_costs(0.25, 0.5, 0.25),
    "a cost of 0": set_label_costs(0.0, 1.0, 1.0),
    "constraints": forbid_what_gold_does_not_have,
    "features": other_tokens,
    "ends": toggle_ends,
}
_OF_SEQUENCES = {**_OF_CHAINS, "more features": more_features_of_tokens, "fewer features": fewer_features_of_tokens}
_OF_OBSERVED = {
    "costs": set_label_costs(2.0, 0.5, 1.25),
    "constraints": forbid_what_gold_does_not_have,
    "features": other_tokens,
    "more combinations": more_combinations,
    "fewer combinations": fewer_combinations,
}
_OF_SETS = {
    "costs": other_set_costs,
    "free spurious labels": only_missing_labels_cost,
    "features": other_rows,
    "more features": more_features,
    "fewer features": fewer_features,
    "no bias": no_bias,
}
_OF_TREES = {
    "features": other_words,
    "more features": more_templates,
    "fewer features": fewer_templates,
    "roots": many_roots,
}
#: What may change between a state and its use, by the name of the problem.
CHANGES = {
    "sequence": _OF_SEQUENCES,
    "sequence, constrained": {**_OF_SEQUENCES, "no constraints": allow_all},
    "sequence, observed transitions": _OF_OBSERVED,
    "sequence, order 2": {**_OF_OBSERVED, "order 1": first_order},
    "multiclass": {
        "costs": other_cost_matrix,
        "features": other_rows,
        "more features": more_features,
        "fewer features": fewer_features,
        "no bias": no_bias,
    },
    "multilabel, independent": {"costs": other_set_costs, "features": other_rows, "pairs": set_pairs(TREE)},
    "multilabel, tree": {**_OF_SETS, "pairs": set_pairs([(0, 2), (2, 3)]), "no pairs": set_pairs([])},
    "multilabel, full": {"costs": other_set_costs, "features": other_rows},
    "detection": {
        "loss": zero_one_loss,
        "pixels": other_pixels,
        "channels": more_channels,
        "intercepts": intercepts,
    },
    "parse, projective": {**_OF_TREES, "crossing arcs": crossing_arcs, "siblings": siblings},
    "parse, any tree": _OF_TREES,
    "parse, siblings and labels": {**_OF_TREES, "no siblings": no_siblings, "other masks": all_labels_everywhere},
    "parse, siblings in any tree": _OF_TREES,
    "relations": {
        "losses": missed_relations_cost_more,
        "a loss of 0": no_loss_of_types,
        "a narrower table": allow_only_gold_relations,
        "a wider table": allow_more_relations,
        "features": other_features,
    },
    "custom": _OF_CHAINS,
    "custom, constrained": {**_OF_CHAINS, "no constraints": allow_all},
}
