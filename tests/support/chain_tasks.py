"""Small chains of oracles as tasks."""

import dataclasses
import itertools

import numpy as np
from scipy import sparse

from marginloom.features import MatrixFeatures
from marginloom.features.template_lines import BEFORE, BEFORE_THAT
from marginloom.tasks.sequence.histories import Histories
from marginloom.tasks.sequence.task import SequenceTask
from support.oracles import TinyChains


def make_task(chains, representation, **options):
    stacked = np.vstack(chains.X)
    matrix = stacked if representation == "dense" else sparse.csr_matrix(stacked)
    encoded = MatrixFeatures().fit((matrix, chains.lengths))
    if representation == "indicators":
        assert encoded.values is None
    return SequenceTask(
        chains.observe(encoded) if isinstance(chains, ObservedChains) else encoded,
        np.concatenate(chains.y).astype(np.uint16),
        chains.labels,
        start_end=chains.start_end,
        label_costs=chains.label_costs,
        forbidden=chains.forbidden,
        histories=chains.histories if isinstance(chains, ObservedChains) else None,
        **options,
    )


class ObservedChains(TinyChains):
    """Chains in which labels before a token, joined with what is observed there, have weights.

    `reaches` says for each observation which labels those are; `triples` adds one that every token has. About `share`
    of the combinations that could be are there, and those of the gold labels.
    """

    def __init__(self, seed, *, reaches=(BEFORE, BEFORE), triples=False, share=0.4, **options):
        super().__init__(seed, **options)
        rng = np.random.default_rng(seed + 1)
        self.reaches = np.array(reaches, np.uint8)
        self.triples = triples
        self.share = share
        self.observed = [
            [np.flatnonzero(rng.random(len(reaches)) < 0.5).tolist() for _ in range(length)] for length in self.lengths
        ]
        self.learn()

    def learn(self):
        """Say which combinations have a weight, once the gold labels are what they are."""
        self.histories = self._with_others(self.learnt(), np.random.default_rng(2))

    def add_label(self):
        self.labels += 1
        self.label_costs = np.append(self.label_costs, 1.0)
        self.learn()

    def learnt(self):
        gold = np.concatenate(self.y).astype(np.uint16)
        return Histories.learn(self.observe(self._empty()), gold, self.labels, self.reaches, self.triples)

    def _empty(self):
        return MatrixFeatures().fit((np.zeros((int(sum(self.lengths)), 0)), self.lengths))

    def observe(self, encoded):
        if not self.reaches.size:
            return encoded
        flat = [token for sentence in self.observed for token in sentence]
        return dataclasses.replace(
            encoded,
            observation_offsets=np.cumsum([0, *map(len, flat)]).astype(np.uint64),
            observations=np.array([o for token in flat for o in token], np.uint32),
        )

    def _with_others(self, histories, rng):
        found = set(self._combinations(histories))
        labels, any_label = range(self.labels), [self.labels]
        for o in range(len(histories.offsets) - 1):
            reach = self.reaches[o] if o < len(self.reaches) else None
            far = any_label if reach == BEFORE else labels
            near = any_label if reach == BEFORE_THAT else labels
            every = list(itertools.product([o], far, near, labels))
            found |= {combination for combination in every if rng.random() < self.share}
        rows = np.array(sorted(found), dtype=np.int64).reshape(-1, 4)
        offsets = np.searchsorted(rows[:, 0], np.arange(len(histories.offsets)))
        before = rows[:, 1] * (self.labels + 1) + rows[:, 2]
        return Histories(
            offsets.astype(np.uint64),
            before.astype(np.uint32),
            rows[:, 3].astype(np.uint16),
            self.labels,
            self.triples,
        )

    @staticmethod
    def _combinations(histories):
        """All combinations: observation, label before that, label before, label; that many labels stand for any."""
        owners = np.repeat(np.arange(histories.offsets.size - 1), np.diff(histories.offsets.astype(np.int64)))
        pairs = [divmod(int(pair), histories.label_count + 1) for pair in histories.before]
        return [(int(o), far, near, int(c)) for o, (far, near), c in zip(owners, pairs, histories.labels, strict=True)]

    def phi(self, i, y):
        counts = dict.fromkeys(self._combinations(self.histories), 0.0)
        for t in range(1, len(y)):
            everywhere = [len(self.reaches)] if self.triples else []
            for o in [*self.observed[i][t], *everywhere]:
                reach = self.reaches[o] if o < len(self.reaches) else None
                if t < 2 and reach != BEFORE:
                    continue
                far = self.labels if reach == BEFORE else int(y[t - 2])
                near = self.labels if reach == BEFORE_THAT else int(y[t - 1])
                combination = o, far, near, int(y[t])
                if combination in counts:
                    counts[combination] += 1
        return np.concatenate([super().phi(i, y), list(counts.values())])

    def to_core(self, w, stride):
        beyond = w.size - len(self.histories)
        return np.concatenate([super().to_core(w[:beyond], stride), w[beyond:]])

    def from_core(self, w, stride):
        w = np.asarray(w)
        beyond = w.size - len(self.histories)
        return np.concatenate([super().from_core(w[:beyond], stride), w[beyond:]])

    @property
    def dimension(self):
        return super().dimension + len(self.histories)
